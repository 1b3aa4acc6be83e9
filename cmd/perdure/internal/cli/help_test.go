package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestF2_EachCommandHasAGroupAndExamples: the help lists every command under a heading,
// and the help of each, nested ones too, has examples of itself.
func TestF2_EachCommandHasAGroupAndExamples(t *testing.T) {
	var out bytes.Buffer
	a, _ := printer(time.Now())
	a.env.Stdout = &out
	known := map[string]bool{}
	for _, cmd := range a.root().Commands() {
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
