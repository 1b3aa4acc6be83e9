package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func policyTryCommand(scr *screen, db *source) *cobra.Command {
	var filter view.TrialFilter
	var span listing.Span
	cmd := &cobra.Command{
		Use:   "try POLICY",
		Short: "Replay the calls on record under another policy",
		Long: `Replay the attempts on record under another retry policy, and show what it would have
made of them: how many calls would have succeeded or failed, how many attempts it saves or
adds and when they hit the dependency, and how long calls take until they succeed. The
engine's own code decides. Nothing is written.

The policy that was in force gives back the record. Under another one an attempt may run
at another time: then it ends as the recorded attempt nearest in time did. What no attempt
on record says is unknown, and WORST and BEST bound it: all such attempts fail, or all
succeed. What was assumed is listed at the end.

The ledger has the calls with an attempt that did not succeed, as far back as they are
kept. POLICY is text in brackets, JSON, or the name of a preset, as in policy explain.`,
		Example: `  perdure policy try '[retry: 3, backoff: 10s]' --activity charge --since 7d
  perdure policy try standard --activity charge -o json`,
		ValidArgsFunction: completePolicy,
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := scr.textValue("policy", args[0])
			if err != nil {
				return err
			}
			p, err := readPolicy(text)
			if err != nil {
				return err
			}
			if err := span.Check(); err != nil {
				return wrongParam(&span, err)
			}
			filter.Since, filter.Until = span.Since.At, span.Until.At
			return db.withEngine(cmd.Context(), func(e *perdure.Engine) error {
				t, err := ops.TryPolicy(cmd.Context(), e, p, filter)
				if err != nil {
					return err
				}
				return scr.show(t, func() { policyTrial(scr, db, t) })
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&filter.Activity, "activity", "", "only calls of the activity or step with this `name`")
	flags.StringVar(&filter.Workflow, "type", "", "only of the workflow with this `name`")
	addParams(scr, cmd, &span, "")
	return cmd
}

// policyTrial shows a trial to people.
func policyTrial(scr *screen, db *source, t *view.PolicyTrial) {
	scr.printf("%s\n\n", term.Painted{Text: t.Policy, Colour: term.Strong})
	untried := func(t *view.PolicyTrial) {
		for _, text := range wording.TrialUntried(t, "--since") {
			scr.printf("%s\n", text)
		}
	}
	if t.Calls == 0 {
		scr.printf("No call that failed at first is on record%s.\n", db.inGroup())
		untried(t)
		return
	}
	scr.printf("Tried on %s with %s that ran\nfrom %s to %s.\n", human.Plural(t.Calls, "call", "calls"), human.Plural(t.Recorded.Attempts, "attempt", "attempts"),
		human.Time(*t.From), human.Time(*t.To))
	untried(t)
	trialNumbers(scr, t)
	trialClasses(scr, t.Classes)
	trialLoad(scr, &t.Load)
	trialEnd(scr, db, t)
}

// trialNumbers shows the sums side by side.
func trialNumbers(scr *screen, t *view.PolicyTrial) {
	scr.printf("\n")
	table := scr.table("", "\tRECORDED", "\tTRIAL", "\tWORST", "\tBEST")
	for _, r := range wording.TrialRows(t) {
		table.Row(r.Name, r.Recorded, r.Trial, r.Worst, r.Best)
	}
	table.Write(scr.out)
	scr.printf("\n%s\n", wording.TrialSaved(t))
	if text := wording.TrialEstimate(t); text != "" {
		scr.printf("%s\n", text)
	}
}

// trialClasses shows how calls ended, on record and with the policy.
func trialClasses(scr *screen, all []view.TrialClass) {
	scr.printf("\n")
	table := scr.table("RECORDED", "TRIAL", "\tCALLS", "\tASSUMED", "ATTEMPTS", "EXAMPLE", "\tCALL", "ATTEMPTS")
	for i := range all {
		c := &all[i]
		table.Row(c.Recorded, term.Painted{Text: c.Trial, Colour: colours[wording.TrialTone(c)]}, human.Count(c.Calls), human.Count(c.Assumed),
			wording.FromTo(c.RecordedAttempts, c.TrialAttempts, "->"), c.Example.WorkflowID, fmt.Sprint(c.Example.Call), wording.FromTo(c.Example.RecordedAttempts, c.Example.TrialAttempts, "->"))
	}
	table.Write(scr.out)
}

// bars are bar heights from empty to full.
var bars = []rune(" ▁▂▃▄▅▆▇█")

// trialLoad draws how many attempts start over time.
func trialLoad(scr *screen, l *view.TrialLoad) {
	if len(l.Points) == 0 {
		return
	}
	scr.printf("\nAttempts that start, by %s from %s:\n\n", wording.Lasts(l.Width), human.Time(l.Points[0].Time))
	all := wording.TrialStarts(l)
	highest := slices.Max(slices.Concat(all...))
	for i, counts := range all {
		var line strings.Builder
		for _, n := range counts {
			height := n * (len(bars) - 1) / highest
			if n > 0 {
				height = max(height, 1)
			}
			line.WriteRune(bars[height])
		}
		scr.printf("  %-8s %s  highest %s\n", []string{"recorded", "trial", "worst"}[i], line.String(), human.Count(slices.Max(counts)))
	}
}

// trialEnd shows the assumptions behind the numbers, and what to look at.
func trialEnd(scr *screen, db *source, t *view.PolicyTrial) {
	if len(t.Assumptions) > 0 {
		scr.printf("\n%s\n", term.Painted{Text: "Assumed:", Colour: term.Busy})
	}
	for _, text := range t.Assumptions {
		for i, line := range wrap(text, 76) {
			scr.printf("  %s %s\n", []string{"-", " "}[min(i, 1)], line)
		}
	}
	e := &t.Classes[0].Example
	for _, c := range t.Classes {
		if c.Recorded != c.Trial {
			e = &c.Example
			break
		}
	}
	scr.printf("\nTo see an example: %s\n", db.sameDatabase("perdure attempts", e.WorkflowID))
}
