package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func showCommand(scr *screen, db *source) *cobra.Command {
	var wait time.Duration
	var run whichRun
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show where a workflow stands",
		Long: `Show where a workflow stands: its input, its result or failure, and what it waits for.
For a step in backoff: which attempt comes next, when, and how the last one failed. For a
workflow that cannot continue: why.

A workflow that continued as new, or was retried as a whole, is a chain of runs. The
last runs are listed, and --run shows an earlier one. Children that the workflow waits
for are among its calls, with their IDs.

With --wait, wait first until the workflow has ended. The exit code is then 3 if it did
not complete, and 6 if it has not ended in time.`,
		Example: `  perdure show order-17
  perdure show order-17 --wait 30s
  perdure show order-17 -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("wait") {
				if err := checkWait(wait); err != nil {
					return err
				}
			}
			if wait > 0 && cmd.Flags().Changed("watch") {
				return usage("Leave one of them out.", "--wait waits for the end of the workflow, and --watch shows it meanwhile.")
			}
			if wait > 0 && run.id != "" {
				return usage("Leave one of them out.", "--wait waits for the end of the workflow; --run shows one of its runs.")
			}
			return show(scr, db, cmd.Context(), args[0], wait, run)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait at most this `duration` for its end, such as 30s")
	run.flag(cmd)
	return cmd
}

func show(scr *screen, db *source, ctx context.Context, id string, wait time.Duration, run whichRun) error {
	return db.withRun(ctx, id, func(e *perdure.Engine) error {
		var outcome error
		if wait > 0 {
			var err error
			if outcome, err = await(ctx, e, id, wait); err != nil {
				return err
			}
		}
		d, err := run.of(e, id).Describe(ctx)
		if err != nil {
			return run.explain(db, id, err)
		}
		err = scr.show(d, func() { describe(scr, db, d) })
		if err == nil && scr.format == formatTable && d.Closed == nil {
			err = noteUnserved(scr, db, ctx, e)
		}
		return errors.Join(err, outcome)
	})
}

// await waits for the end of a run. outcome says that the run did not complete, or has not
// ended in time; the run is shown either way.
func await(ctx context.Context, e *perdure.Engine, id string, wait time.Duration) (outcome, err error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_, err = perdure.Attach[json.RawMessage](e, id).Result(limited)
	if failed, ok := errors.AsType[*perdure.RunError](err); ok {
		return failure(exitRunFailed, "", "Workflow %q did not complete: it %s.", id, wasStatus(failed.Status)), nil
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return failure(exitTimedOut, "It is still open. Wait longer with --wait.", "Workflow %q has not ended within %s.", id, human.Duration(wait)), nil
	}
	return nil, err
}

// wasStatus formats a status for the end of a sentence.
func wasStatus(status string) string {
	switch status {
	case "failed":
		return status
	case "timed-out":
		return "timed out"
	}
	return "was " + status
}

// rests shows since when a run has not begun or is paused.
func rests(d *view.Description, now time.Time, fact func(name, text string)) {
	if w := d.Wait; w != nil && w.Since != nil {
		fact("not begun", wording.Unbegun(w)+", since "+human.Time(*w.Since)+" ("+human.Ago(*w.Since, now)+")")
	}
	if p := d.Paused; p != nil {
		fact("paused", human.Time(p.Since)+" ("+human.Ago(p.Since, now)+")"+wording.Person(p.By, p.Why))
	}
}

// inputOf shows the input of a run, of a flow file without its text.
func inputOf(d *view.Description, fact func(name, text string)) {
	file, is := flowOf(d)
	if !is {
		fact("input", d.Input.String())
		return
	}
	fact("file", fmt.Sprintf("%s, %s, SHA-256 %.16s", file.Name, human.Plural(strings.Count(file.Source, "\n"), "line", "lines"), file.SHA256))
	if len(file.Input) > 0 {
		fact("input", string(file.Input))
	}
}

// describe shows a run to a person.
func describe(scr *screen, db *source, d *view.Description) {
	now := scr.env.Now()
	scr.printf("%s  %s  %s\n\n", term.Painted{Text: d.WorkflowID, Colour: term.Strong}, d.Workflow,
		status(d.Status))
	facts, fact := scr.facts()
	fact("says", d.CustomStatus)
	scr.tell(facts, wording.RunFacts(d))
	rests(d, now, fact)
	fact("away at", d.Away)
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		fact("header", name+"="+d.Headers[name])
	}
	inputOf(d, fact)
	if !d.Memo.Absent() {
		fact("memo", d.Memo.String())
	}
	if d.Result != nil {
		fact("result", d.Result.String())
	}
	name := "failure"
	for _, c := range wording.Causes(d.Failure) {
		fact(name, wording.Typed(c.Type, c.Message))
		name = "because of"
	}
	fact("build", d.Build)
	fact("reason", d.Reason)
	for _, w := range d.Warnings {
		fact("warning", w)
	}
	facts.Write(scr.out)
	if h := wording.HoldOf(d); h != nil {
		explainHold(scr, db, d, h)
		if text := wording.Needed(d, now); text != "" {
			scr.printf("%s\n", text)
		}
	}
	if stack := wording.Stack(d); stack != "" {
		scr.printf("\n  stack\n")
		for _, line := range human.Lines(stack) {
			scr.printf("    %s\n", line)
		}
	}
	chain(scr, d)
	for _, u := range d.Updates {
		scr.printf("\nUpdate %s (%s) in progress since %s.\n", u.Name, u.ID, human.Time(u.Accepted))
	}
	pending(scr, db, d.WorkflowID, d.Pending, now)
}

// factWidth is the width of the names of facts with the blanks around them.
const factWidth = 20

// broken wraps a text to fit beside the name of a fact.
func (scr *screen) broken(text string) (lines []string) {
	if text == "" {
		return nil
	}
	rest := human.Escape(text)
	width := scr.stdout.Width() - factWidth
	if scr.stdout.Width() == 0 || term.Width(rest) <= width {
		return []string{text}
	}
	for width = max(width, factWidth); term.Width(rest) > width; {
		var line string
		line, rest = term.Cut(rest, width)
		lines = append(lines, line)
	}
	return append(lines, rest)
}

// explainHold says why an open run cannot continue.
func explainHold(scr *screen, db *source, d *view.Description, h *wording.Hold) {
	scr.printf("\n%s\n", h.What)
	if h.Why != "" {
		scr.printf("  %s\n", h.Why)
	}
	if m := h.Difference; m != nil {
		scr.printf("  %s %s\n", term.Painted{Text: "-", Colour: term.Good}, event(m.Expected))
		scr.printf("  %s %s\n", term.Painted{Text: "+", Colour: term.Bad}, event(m.Actual))
		scr.printf("- is the history, + is the code.\n")
	}
	if do := strings.Join(h.Do, " "); do != "" {
		for _, line := range wrap(do, helpWidth) {
			scr.printf("%s\n", line)
		}
	}
	if d.Damage == nil || d.Damage.Coded {
		return
	}
	scr.printf("\n")
	id := human.ShellWord(d.WorkflowID)
	if n := d.Damage.LastCall; n > 0 {
		scr.printf("  %s\n", db.sameDatabase(fmt.Sprintf("perdure reset %s --call %d --dry-run", id, n)))
	}
	scr.printf("  %s\n", db.sameDatabase("perdure terminate "+id))
}

// event formats a command of a history in one line; nil is its end.
func event[E any](e *E) string {
	if e == nil {
		return "(nothing more)"
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// pending shows the open calls.
func pending(scr *screen, db *source, id string, calls []view.Call, now time.Time) {
	table := scr.titled("Waiting for", "\tCALL", "KIND", "NAME", "STATE", "ATTEMPT", "NEXT", "NODE", "LAST ERROR")
	table.Indent = "  "
	for _, p := range calls {
		next := term.Either{}
		if p.Next != nil {
			next.Short = human.Until(*p.Next, now)
			next.Long = next.Short + " (" + human.Time(*p.Next) + ")"
		}
		name, state := p.Name, p.State
		if p.Child != nil {
			name, state = p.Name+" "+p.Child.WorkflowID, cmp.Or(p.Child.Status, p.State)
		}
		table.Row(fmt.Sprint(p.Call), p.Kind, name, status(state), wording.Attempt(&p), next, p.Node, lastError(p))
	}
	table.Write(scr.out)
	for _, p := range calls {
		if p.Policy != "" {
			scr.printf("\n  Call %d: policy %s\n", p.Call, p.Policy)
		}
		if p.Queue == "" && p.Unserved != "" {
			scr.printf("\n  Call %d waits: %s.\n", p.Call, p.Unserved)
		}
		if p.Queue != "" {
			see := ""
			if p.Unserved != "" {
				see = " See: " + db.sameDatabase("perdure nodes")
			}
			scr.printf("\n  Call %d: %s.%s\n", p.Call, wording.AtQueue(&p, now), see)
		}
		if p.Gate != nil {
			scr.printf("\n  Call %d: %s\n", p.Call, wording.AtGate(p.Gate)+".")
		}
		if p.LastHeartbeat != nil {
			said := ""
			if p.Heartbeat != nil {
				said = ": " + scr.clip(p.Heartbeat.String(), 120)
			}
			scr.printf("\n  Call %d: last heartbeat %s (%s)%s\n", p.Call, human.Time(*p.LastHeartbeat), human.Ago(*p.LastHeartbeat, now), said)
		}
		if p.TimesOut != nil {
			scr.printf("\n  Call %d: the attempt times out at %s (%s).\n", p.Call, human.Time(*p.TimesOut), human.When(*p.TimesOut, now))
		}
		if p.Deadline != nil {
			scr.printf("\n  Call %d: no attempt starts after %s (%s).\n", p.Call, human.Time(*p.Deadline), human.When(*p.Deadline, now))
		}
		if p.LostToCrashes > 0 {
			scr.printf("\n  Call %d: %s lost with the process that ran it.\n", p.Call, human.Plural(p.LostToCrashes, "attempt was", "attempts were"))
		}
		if p.State == "quarantined" {
			scr.printf("\n  Call %d: quarantined, because it %s.\n", p.Call, wording.Crashed(p.Crashes, p.Crashed, now))
		}
		if p.Doubt != nil {
			scr.printf("\n  Call %d: %s.\n", p.Call, wording.InDoubt(p.Doubt))
		}
		if c := p.Child; c != nil && (c.Status == "parked" || c.Status == "waiting-for-code") {
			scr.printf("\n  Call %d: the child cannot continue. See: %s\n", p.Call, db.sameDatabase("perdure show", c.WorkflowID))
		}
		decide(scr, db, id, p, now)
	}
}

// decide says that a call waits for an operator, and what to type.
func decide(scr *screen, db *source, id string, p view.Call, now time.Time) {
	if w := p.ActivityPaused; w != nil {
		scr.printf("\n  Call %d: its activity has been paused on all nodes since %s (%s)%s.\n", p.Call, human.Time(w.Since), human.Ago(w.Since, now), byAndWhy(w))
	}
	w := p.Paused
	switch {
	case p.State == view.CallQuarantined:
		decideNext(scr, db, id, view.Wait{For: view.WaitQuarantined, Call: p.Call, Name: p.Name, Crashes: p.Crashes, NoOtherBuild: p.NoOtherBuild})
	case p.State == view.CallInDoubt:
		decideNext(scr, db, id, view.Wait{For: view.WaitInDoubt, Call: p.Call, Name: p.Name})
	case w == nil:
		return
	case p.State == "running":
		scr.printf("\n  Call %d: paused %s%s: no attempt follows this one.\n", p.Call, human.Ago(w.Since, now), byAndWhy(w))
	default:
		scr.printf("\n  Call %d: waiting since %s (%s)%s for a person: perdure retry-now, skip, fail or resume.\n",
			p.Call, human.Time(w.Since), human.Ago(w.Since, now), byAndWhy(w))
	}
}

// decideNext says what to do about a call that waits for a person, the safest first.
func decideNext(scr *screen, db *source, id string, why view.Wait) {
	w := view.Waiting{Wait: why, WorkflowID: id, Count: 1}
	for _, line := range nextLines(db, &w) {
		scr.printf("    %s\n", line)
	}
}

// byAndWhy says who paused something and why, for the middle of a sentence.
func byAndWhy(w *view.Pause) (text string) {
	if w.By != "" {
		text += ", by " + w.By
	}
	if w.Why != "" {
		text += " (" + w.Why + ")"
	}
	return text
}

func lastError(p view.Call) string { return wording.Typed(p.LastErrorType, p.LastError) }
