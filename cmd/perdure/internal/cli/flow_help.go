package cli

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/near"
	"github.com/spf13/cobra"
)

func flowHelpCommand(scr *screen) *cobra.Command {
	return &cobra.Command{
		Use:   "help [NAME]",
		Short: "List what flow files can call, or say what one of it does",
		Long: `List the functions and the actions of flow files with what they do, or with a NAME those
of that name or of that group, such as http. Actions that a program of your own has are
not among them.`,
		Example: `  perdure flow help
  perdure flow help http.get
  perdure flow help parse_time`,
		Annotations: withoutDatabase,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return flowHelp(scr, "")
			}
			return flowHelp(scr, strings.TrimPrefix(args[0], "@"))
		},
	}
}

// flowHelp shows the functions and actions of a name or a group; of all, if it is empty.
func flowHelp(scr *screen, name string) error {
	known := map[string]bool{}
	table := scr.table()
	found := false
	add := func(all []string, form, meaning string) {
		shown := name == ""
		for _, n := range all {
			known[n] = true
			group, _, _ := strings.Cut(n, ".")
			shown = shown || n == name || group == name
		}
		if shown {
			for i, line := range scr.broken(meaning) {
				if i > 0 {
					form = ""
				}
				table.Row(term.Painted{Text: form, Colour: term.Strong}, line)
			}
			found = true
		}
	}
	for _, b := range flow.Builtins {
		add(b.Names, b.Form, b.Meaning)
	}
	for _, b := range eval.Builtins() {
		add([]string{b.Name}, b.Form, b.Meaning)
	}
	if !found {
		return usage(cmp.Or(near.Hint(name, maps.Keys(known)), "See all: perdure flow help"), "There is no function or action %q.", name)
	}
	if name == "" {
		scr.printf("Statements: %s\n\n", strings.Join(statements, "; "))
	}
	table.Write(scr.out)
	return nil
}

// statements are the forms of statements.
var statements = slices.Clip([]string{
	"x = f(a, b)", "@http.get(url=u) [retry: 3, backoff: 30s] [timeout: 2m]", "if c: elif c: else:", "for x in xs:", "while c: break continue",
	"try: except NetworkError as e:", "spread xs [limit: 10]: x -> f(x)", "parallel:", "x = wait signal go [timeout: 2d]", "sleep \"1h30m\"", "fn f(input: [a], output: [b]):", "return x", "pass",
})
