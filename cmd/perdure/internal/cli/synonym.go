package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// synonyms are words of other tools, and the commands that do here what they do there. A
// word may stand with several.
var synonyms = map[string]string{
	"attempts":   "tries retries ledger",
	"cancel":     "stop abort",
	"canary":     "ramp rollout traffic weight bluegreen",
	"dashboard":  "ui web server serve",
	"doctor":     "check health verify",
	"gates":      "limits locks semaphores breakers",
	"gc":         "delete purge prune rm remove clean cleanup vacuum",
	"history":    "logs log events trace",
	"list":       "ls ps runs workflows find search",
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

// addSynonyms tells the commands the words that mean them.
func addSynonyms(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = strings.Fields(synonyms[cmd.Name()])
	}
}

// meant are the commands below cmd that a word may stand for: those of which it is a
// synonym; if there are none, those that are spelt like it.
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
