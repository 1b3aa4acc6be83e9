package cli

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestF2_EachCommandHasAGroupAndExamples: the help lists every command under a heading,
// and the help of each, nested ones too, has examples of itself.
func TestF2_EachCommandHasAGroupAndExamples(t *testing.T) {
	var out bytes.Buffer
	scr, db, _ := printer(time.Now())
	scr.env.Stdout = &out
	known := map[string]bool{}
	for _, cmd := range rootCommand(scr, db).Commands() {
		known[cmd.Name()] = true
		if cmd.Name() == "help" || cmd.Name() == "completion" {
			continue
		}
		if cmd.GroupID == "" {
			t.Errorf("%s is under no heading of the help", cmd.Name())
		}
		haveExamples(t, cmd)
	}
	for _, g := range helpGroups {
		for _, name := range strings.Fields(g.commands) {
			if !known[name] {
				t.Errorf("the heading %q lists %s, and there is no such command", g.title, name)
			}
		}
	}
}

// TestF14_TheHelpFits: on a terminal of 80 columns no line of a help is longer, but for examples,
// which are to be pasted.
func TestF14_TheHelpFits(t *testing.T) {
	help := func(width string, args ...string) string {
		var out bytes.Buffer
		Run(t.Context(), Env{
			Args: append(args, "--help"), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Now: time.Now,
			Getenv: func(name string) string { return map[string]string{"COLUMNS": width}[name] },
		})
		return out.String()
	}
	var check func(cmd *cobra.Command)
	scr, db, _ := printer(time.Now())
	check = func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		text := help("80", path...)
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > 80 && !strings.HasPrefix(line, "  perdure ") {
				t.Errorf("%s: a line has %d columns: %s", cmd.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
		if words := func(s string) string { return strings.Join(strings.Fields(s), " ") }; words(text) != words(help("", path...)) {
			t.Errorf("the help of %s says something else on a narrow terminal", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			if !sub.Hidden && sub.Name() != "completion" && sub.Name() != "help" {
				check(sub)
			}
		}
	}
	check(rootCommand(scr, db))
}

// haveExamples wants examples of a command and of those below it.
func haveExamples(t *testing.T, cmd *cobra.Command) {
	t.Helper()
	if !cmd.Hidden && cmd.Name() != "version" && !strings.Contains(cmd.Example, cmd.CommandPath()) {
		t.Errorf("%s has no examples of itself: %q", cmd.CommandPath(), cmd.Example)
	}
	for _, sub := range cmd.Commands() {
		haveExamples(t, sub)
	}
}

// TestF23_WordsOfOtherTools: each leads to commands that exist, and none is a command itself.
func TestF23_WordsOfOtherTools(t *testing.T) {
	scr, db, _ := printer(time.Now())
	root := rootCommand(scr, db)
	for name, words := range synonyms {
		cmd, _, err := root.Find([]string{name})
		if err != nil || cmd == root {
			t.Errorf("there is no command %q for %q", name, words)
		}
		for _, word := range strings.Fields(words) {
			if cmd, _, _ := root.Find([]string{word}); cmd != root {
				t.Errorf("%q is a command and needs no %q", word, name)
			}
			refused, ok := errors.AsType[*Error](noArguments(root, []string{word}))
			if !ok || !strings.Contains(refused.Hint, "perdure "+name) {
				t.Errorf("%q does not lead to %q: %+v", word, name, refused)
			}
		}
	}
}

// TestF23_FlagsOfOtherTools: each word leads to its flag in every command that has that flag, and
// each such flag exists.
func TestF23_FlagsOfOtherTools(t *testing.T) {
	scr, db, _ := printer(time.Now())
	found := map[string]bool{}
	walk(rootCommand(scr, db), func(cmd *cobra.Command) {
		_ = cmd.ParseFlags(nil) // now it has those of the commands above it
		for name, words := range flagSynonyms {
			if f := cmd.Flags().Lookup(name); f == nil || f.Name != name {
				continue
			}
			found[name] = true
			for _, word := range strings.Fields(words) {
				if cmd.Flags().Lookup(word) == nil && !slices.Contains(meantFlags(cmd, word), name) {
					t.Errorf("%s --%s does not lead to --%s", cmd.CommandPath(), word, name)
				}
			}
		}
	})
	for name := range flagSynonyms {
		if !found[name] {
			t.Errorf("there is no flag --%s", name)
		}
	}
}
