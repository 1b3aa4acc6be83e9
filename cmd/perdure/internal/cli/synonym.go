package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// synonyms maps words of other tools to the commands that do the same here. A word may have
// several.
var synonyms = map[string]string{
	"attempts":   "tries retries ledger",
	"cancel":     "stop abort",
	"canary":     "ramp rollout traffic weight bluegreen",
	"dashboard":  "ui web server serve",
	"doctor":     "check health verify",
	"gates":      "limits locks semaphores breakers",
	"gc":         "delete purge prune rm remove clean cleanup vacuum",
	"history":    "logs log events trace",
	"list":       "ls ps runs find search",
	"nodes":      "workers members cluster builds",
	"resume":     "unpause continue",
	"resume-run": "unpause continue",
	"retry-now":  "retry rerun",
	"reset":      "rewind rollback restart rerun retry",
	"schedules":  "schedule cron crons",
	"show":       "describe get result output wait info inspect",
	"start":      "execute exec run submit enqueue create",
	"flow":       "execute run",
	"stats":      "metrics errors",
	"status":     "overview top summary",
	"terminate":  "kill stop",
}

// meant returns the commands below cmd that a word may mean: those of which it is a synonym
// or, if there are none, those with a similar spelling.
func meant(cmd *cobra.Command, word string) (names []string) {
	for _, c := range cmd.Commands() {
		if slices.Contains(c.SuggestFor, strings.ToLower(word)) {
			names = append(names, c.Name())
		}
	}
	if len(names) > 0 {
		return names
	}
	return cmd.SuggestionsFor(word)
}
