package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/goldenfile"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// twoMeanings are the flags that mean different things, each with the reason.
var twoMeanings = map[string]string{
	"all":    "the word of each field: all workflows to act on, all nodes that were",
	"from":   "from where to where: of runs that move to a build, of times, of databases",
	"id":     "the ID of what is made: of a run, of a signal, of an update",
	"to":     "from where to where, as in --from",
	"reason": "one is given with an operation, one is recorded with an attempt",
}

// TestF2_OneWordForOneFlag: a flag of one name takes the same in every command, and what
// the help says of it differs in nothing that testdata does not show.
func TestF2_OneWordForOneFlag(t *testing.T) {
	scr, db, _ := printer(time.Now())
	takes := map[string]map[string]string{} // by flag and what it takes, a command
	says := map[string]map[string]bool{}
	walk(rootCommand(scr, db), func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, text := pflag.UnquoteUsage(f)
			if takes[f.Name] == nil {
				takes[f.Name], says[f.Name] = map[string]string{}, map[string]bool{}
			}
			takes[f.Name][f.Value.Type()+" "+value] = cmd.CommandPath()
			says[f.Name][strings.TrimPrefix(text, "with --all: ")] = true
		})
	})
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(takes)) {
		if len(takes[name]) > 1 && twoMeanings[name] == "" {
			t.Errorf("--%s takes different things: %v", name, takes[name])
		}
		if len(takes[name]) == 1 && len(says[name]) == 1 && twoMeanings[name] != "" {
			t.Errorf("--%s has one meaning: delete the exception", name)
		}
		fmt.Fprintf(&out, "--%s\n", name)
		for _, text := range slices.Sorted(maps.Keys(says[name])) {
			fmt.Fprintf(&out, "    %s\n", text)
		}
	}
	goldenfile.Compare(t, "testdata/words/flags.txt", out.String())
}

// walk visits the commands that the help shows.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	if cmd.Hidden || cmd.Name() == "completion" || cmd.Name() == "help" {
		return
	}
	visit(cmd)
	for _, sub := range cmd.Commands() {
		walk(sub, visit)
	}
}
