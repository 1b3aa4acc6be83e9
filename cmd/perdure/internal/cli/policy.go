package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/flow/check"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/notation"
	"github.com/perdure/perdure/internal/policyedit"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

const aboutText = "It reads a policy only."

func policyCommand(scr *screen, db *source) *cobra.Command {
	cmd := &cobra.Command{
		Use: "policy",
		Example: `  perdure policy explain '[retry: 3, backoff: 60]'
  perdure policy try '[retry: 3, backoff: 10s]' --activity charge --since 7d`,
		Short:       "Explain retry policies, and try them on what is on record",
		Annotations: map[string]string{noDatabase: aboutText, noGroup: aboutText},

		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(policyExplainCommand(scr), policyTryCommand(scr, db))
	return cmd
}

func policyExplainCommand(scr *screen) *cobra.Command {
	layers := 1
	cmd := &cobra.Command{
		Use:   "explain POLICY",
		Short: "Show what a policy retries, when attempts start, and mistakes",
		Long: `Explain a retry policy: which errors it retries, when each attempt starts, how long a
call may take, and what may be a mistake. The explanation comes from the code that
decides in the engine. Nothing is run, and no database is needed.

POLICY is text in brackets, JSON, or the name of a preset:
  ` + strings.Join(presetNames(), ", ") + `

Keys of the text (D is a duration such as 60, 500ms, 1h30m; TYPES one or (several)):
` + keyList(),
		Example: `  perdure policy explain '[retry: 3, backoff: 60] [timeout: 2m]'
  perdure policy explain '[NetworkError -> retry: 5, backoff: 2m]' -o json
  perdure policy explain standard --nested 2`,
		Annotations:       map[string]string{noDatabase: aboutText, noGroup: aboutText},
		ValidArgsFunction: completePolicy,
		RunE: func(_ *cobra.Command, args []string) error {
			return explainPolicy(scr, args[0], layers)
		},
	}
	number(cmd.Flags(), &layers, "nested", 1, math.MaxInt32, "Use a number from 1.", "`number` of nested layers that retry by this policy")
	return cmd
}

// keyList lists the keys of the notation for the help.
func keyList() string {
	var b strings.Builder
	table := term.NewTable(term.Style{})
	table.Indent = "  "
	keys, longest := make([]string, len(notation.Keys)), 0
	for i, k := range notation.Keys {
		if keys[i] = k.Name; k.Value != "" {
			keys[i] += ": " + strings.ReplaceAll(k.Value, "types", "TYPES")
		}
		longest = max(longest, len(keys[i]))
	}
	for i, k := range notation.Keys {
		for _, line := range wrap(k.Means, 76-longest) {
			table.Row(keys[i], line)
			keys[i] = ""
		}
	}
	table.Write(&b)
	return strings.TrimSuffix(b.String(), "\n")
}

// completePolicy offers the names of presets for the argument.
func completePolicy(_ *cobra.Command, args []string, _ string) (offers []string, _ cobra.ShellCompDirective) {
	if len(args) == 0 {
		offers = presetNames()
	}
	return offers, cobra.ShellCompDirectiveNoFileComp
}

func presetNames() (names []string) {
	for _, p := range policyedit.Presets {
		names = append(names, p.Name)
	}
	return names
}

// readPolicy reads a policy in text, by its name, or in JSON.
func readPolicy(text string) (retry.Policy, error) {
	p, err := policyedit.Read(text)
	if err = notPolicy(text, err); err == nil {
		return p, nil
	}
	if _, is := errors.AsType[*Error](err); is {
		return p, err
	}
	return p, usage("See: perdure policy explain --help", "%s", human.Sentence(err.Error()))
}

// notPolicy points at what is wrong with a text.
func notPolicy(text string, err error) error {
	if wrong, ok := errors.AsType[*retry.NotationError](err); ok {
		return usage(underlined(text, wrong), "%s.", wrong.Error())
	}
	return err
}

// underlined returns the faulty line of a text, with a mark below the fault.
func underlined(text string, e *retry.NotationError) string {
	if strings.TrimSpace(text) == "" {
		return "See: perdure policy explain --help"
	}
	lines := strings.Split(text, "\n")
	line := []rune(lines[e.Line-1])
	before, behind := string(line[:e.Column-1]), string(line[e.Column-1:])
	const room = 60
	if long := len([]rune(before)); long > room {
		before = "..." + string([]rune(before)[long-room:])
	}
	before = human.Escape(before)
	return "  " + before + term.Clip(human.Escape(behind), room) + "\n  " + strings.Repeat(" ", term.Width(before)) + "^"
}

func explainPolicy(scr *screen, text string, layers int) error {
	p, err := readPolicy(text)
	if err != nil {
		return err
	}
	e, err := retry.Explain(p, layers)
	if err != nil {
		return usage("", "%s", human.Sentence(err.Error()))
	}
	e.Warnings = append(e.Warnings, strangeTypes(p)...)
	return scr.show(view.ExplainPolicy(e), func() { policyTables(scr, e) })
}

// strangeTypes warns of error types that almost match those of flow files and of the
// engine.
func strangeTypes(p retry.Policy) (all []retry.Warning) {
	types := slices.Concat(p.Retryable, p.NonRetryable)
	for _, r := range p.Rules {
		types = append(types, r.Types...)
	}
	for _, t := range types {
		if hint := check.ErrorHint(t); hint != "" {
			all = append(all, retry.Warning{Kind: "unknown_error", Text: "No action that comes along and no engine fails with " + t + ". " + hint})
		}
	}
	return all
}

// policyTables shows an explanation to people.
func policyTables(scr *screen, e *retry.Explanation) {
	scr.printf("%s\n\n", term.Painted{Text: e.Policy.String(), Colour: term.Strong})
	table := scr.table("ERRORS", "RETRIED", "ATTEMPTS", "WHY")
	for _, v := range e.Verdicts {
		retried, attempts := term.Painted{Text: "no", Colour: term.Bad}, ""
		if v.Retried {
			retried, attempts = term.Painted{Text: "yes", Colour: term.Good}, wording.AttemptLimit(v.Attempts)
		}
		table.Row(v.Errors, retried, attempts, v.Why())
	}
	table.Write(scr.out)
	for i := range e.Schedules {
		planTable(scr, &e.Schedules[i])
	}
	scr.printf("\n")
	facts := scr.table()
	for _, f := range wording.PolicyTotals(e) {
		facts.Row(term.Painted{Text: f.Name, Colour: term.Faint}, f.Text)
	}
	facts.Write(scr.out)
	if len(e.Warnings) > 0 {
		scr.printf("\n%s\n", term.Painted{Text: "Possible mistakes:", Colour: term.Busy})
	}
	for _, w := range e.Warnings {
		for i, line := range wrap(w.Text, 80) {
			scr.printf("  %s %s\n", []string{"-", " "}[min(i, 1)], line)
		}
	}
}

// schedule shows when attempts start.
func planTable(scr *screen, s *retry.Schedule) {
	table := scr.titled("If attempts fail immediately with "+s.Errors, "\tATTEMPT", "\tWAIT", "\tSTARTS AT", "\tEARLIEST", "\tLATEST", "")
	table.Indent = "  "
	for _, p := range wording.Planned(s) {
		if p.Gap {
			table.Row("...")
		}
		table.Row(fmt.Sprint(p.Number), wording.Lasts(p.Delay), wording.StartsAt(p.Start), wording.StartsAt(p.Earliest), wording.StartsAt(p.Latest), p.Note)
	}
	if !s.Complete {
		table.Row("...")
	}
	table.Write(scr.out)
}
