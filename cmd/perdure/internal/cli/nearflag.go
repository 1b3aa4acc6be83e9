package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/near"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagSynonyms maps words of other tools to the flags that mean the same here. A word may have
// several.
var flagSynonyms = map[string]string{
	"allow-host":  "host hosts cors",
	"codec":       "key keyfile decrypt",
	"db":          "database dsn url uri file",
	"dry-run":     "simulate preview",
	"every":       "interval",
	"files":       "dir directory path",
	"group":       "namespace tenant",
	"limit":       "max count n",
	"listen":      "addr address bind host port http",
	"older-than":  "age",
	"output":      "format json",
	"read-only":   "readonly viewer",
	"reason":      "message why",
	"run":         "run-id",
	"run-timeout": "timeout",
	"since":       "from after",
	"tls-cert":    "cert",
	"tls-key":     "key",
	"token-file":  "token password auth",
	"type":        "workflow",
	"until":       "to before",
	"wait":        "timeout",
	"watch":       "follow refresh",
	"zone":        "timezone tz",
}

// meantFlags returns the flags of a command that a word may mean: those that it begins or of which
// it is a synonym or, if there are none, those with a similar spelling.
func meantFlags(cmd *cobra.Command, word string) (names []string) {
	word = strings.ToLower(word)
	all := map[string]bool{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		all[f.Name] = true
		if slices.Contains(strings.Fields(flagSynonyms[f.Name]), word) || len(word) > 1 && strings.HasPrefix(f.Name, word) {
			names = append(names, f.Name)
		}
	})
	if len(names) == 0 {
		names = near.Names(word, maps.Keys(all))
	}
	return names
}

// unknownFlag explains that a command has no such flag. A word after a single dash counts as a
// flag, as in other tools written in Go.
func unknownFlag(cmd *cobra.Command, e *pflag.NotExistError) *Error {
	given, word := "--"+e.GetSpecifiedName(), e.GetSpecifiedName()
	if letters := e.GetSpecifiedShortnames(); letters != "" {
		word, _, _ = strings.Cut(letters, "=")
		given = "-" + word
	}
	hint := "See: " + cmd.CommandPath() + " --help"
	if names := meantFlags(cmd, word); len(names) > 0 {
		hint = "Did you mean: " + "--" + strings.Join(names, ", --") + "\n" + hint
	}
	return usage(hint, "The command %q has no flag %s.", cmd.CommandPath(), given)
}
