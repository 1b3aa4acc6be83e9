package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/retry"
	"github.com/spf13/cobra"
)

func (a *app) showCommand() *cobra.Command {
	var wait time.Duration
	var run whichRun
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show where one workflow stands",
		Long: `Show where a workflow stands: its input, its result or failure, and what it is
waiting for. Of a step that failed and is tried again it shows which attempt comes
next, when, and how the last one failed; of a workflow that cannot go on, why.

A workflow that continued as new, or was retried as a whole, is a chain of runs: its
last ones are listed, and --run shows an earlier one. Workflows that it started and
waits for are among its calls, with their IDs.

With --wait it first waits until the workflow has ended. The exit code is then 3 if
it did not complete, and 6 if it has not ended in time.`,
		Example: `  perdure show order-17
  perdure show order-17 --wait 30s
  perdure show order-17 -o json`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("wait") {
				if err := checkWait(wait); err != nil {
					return err
				}
			}
			if wait > 0 && run.id != "" {
				return usage("Leave one of them out.", "--wait waits for the end of the workflow, and --run shows one of its runs.")
			}
			return a.show(cmd.Context(), args[0], wait, run)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait so `long` for its end, for instance 30s")
	run.flag(cmd)
	return cmd
}

func (a *app) show(ctx context.Context, id string, wait time.Duration, run whichRun) error {
	return a.withRun(ctx, id, func(e *perdure.Engine) error {
		var outcome error
		if wait > 0 {
			var err error
			if outcome, err = a.await(ctx, e, id, wait); err != nil {
				return err
			}
		}
		d, err := e.Describe(ctx, id, run.options()...)
		if err != nil {
			return run.explain(id, err)
		}
		if a.format != formatTable {
			err = a.document(d)
		} else {
			err = a.describe(d)
		}
		return errors.Join(err, outcome)
	})
}

// await waits for the end of a run. Outcome says that it did not complete, or has
// not ended in time; the run is shown all the same.
func (a *app) await(ctx context.Context, e *perdure.Engine, id string, wait time.Duration) (outcome, err error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	_, err = perdure.Attach[json.RawMessage](e, id).Result(limited)
	if failed, ok := errors.AsType[*perdure.RunError](err); ok {
		return &Error{Code: exitRunFailed, What: fmt.Sprintf("Workflow %q did not complete: it %s.", id, wasStatus(failed.Status))}, nil
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return &Error{Code: exitTimedOut, What: fmt.Sprintf("Workflow %q has not ended within %s.", id, term.Duration(wait)), Hint: "It goes on; wait longer with --wait."}, nil
	}
	return nil, err
}

// wasStatus is a status as the end of a sentence.
func wasStatus(status string) string {
	switch status {
	case "failed":
		return status
	case "timed-out":
		return "timed out"
	}
	return "was " + status
}

// describe shows a run to a person.
func (a *app) describe(d *perdure.Description) error {
	now := a.env.Now()
	a.printf("%s  %s  %s\n\n", term.Painted{Text: d.WorkflowID, Colour: term.Strong}, d.Workflow,
		term.Painted{Text: d.Status, Colour: statusColours[d.Status]})
	facts := a.table()
	facts.Indent = "  "
	fact := func(name, text string) {
		if text != "" {
			facts.Row(term.Painted{Text: name, Colour: term.Faint}, text)
		}
	}
	fact("says", d.CustomStatus)
	fact("run", d.RunID)
	origin(d, fact)
	fact("started", term.Time(d.Created)+" ("+term.When(d.Created, now)+")")
	if d.Closed != nil {
		fact("ended", term.Time(*d.Closed)+" (took "+term.Duration(d.Closed.Sub(d.Created))+")")
	}
	if d.Closed == nil && d.RunDeadline != nil {
		fact("run deadline", term.Time(*d.RunDeadline)+" ("+term.When(*d.RunDeadline, now)+")")
	}
	if d.Closed == nil && d.ChainDeadline != nil {
		fact("deadline", term.Time(*d.ChainDeadline)+" ("+term.When(*d.ChainDeadline, now)+")")
	}
	if p := d.Paused; p != nil {
		fact("paused", term.Time(p.Since)+" ("+term.When(p.Since, now)+")"+personOf(p.By, p.Why))
	}
	if d.Priority != 0 {
		fact("priority", strconv.Itoa(d.Priority))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
		fact("attribute", name+"="+d.Attributes[name])
	}
	fact("trace", d.Trace)
	fact("input", d.Input.String())
	if !d.Memo.Absent() {
		fact("memo", d.Memo.String())
	}
	if d.Result != nil {
		fact("result", d.Result.String())
	}
	name := "failure"
	for f, last := d.Failure, ""; f != nil; name = "because of" {
		if text := typed(f.Type, f.Message); last == "" || !strings.HasSuffix(last, text) { // else it was said
			fact(name, text)
		}
		last = f.Message
		if len(f.Causes) == 0 {
			break
		}
		f = f.Causes[0]
	}
	fact("reason", d.Reason)
	for _, w := range d.Warnings {
		fact("warning", w)
	}
	if err := facts.Write(a.out); err != nil {
		return err
	}
	if d.Status == "parked" || d.Status == "waiting-for-code" {
		a.explainHold(d)
	}
	stack := d.Stack
	if d.Failure != nil && stack == "" {
		stack = d.Failure.StackTrace()
	}
	if stack != "" {
		a.printf("\n  stack\n")
		for _, line := range term.Lines(stack) {
			a.printf("    %s\n", line)
		}
	}
	if err := a.chain(d); err != nil {
		return err
	}
	for _, u := range d.Updates {
		a.printf("\nUpdate %s (%s) is under way since %s.\n", u.Name, u.ID, term.Time(u.Accepted))
	}
	return a.pending(d.Pending, now)
}

// explainHold says why a run does not go on although nothing failed.
func (a *app) explainHold(d *perdure.Description) {
	a.printf("\n")
	switch {
	case d.Mismatch != nil:
		a.printf("It is parked: its code asks for something else than what its history has on record.\n")
		a.printf("  turn %d, command %d\n", d.Mismatch.Turn, d.Mismatch.Command)
		a.printf("  %s %s\n", term.Painted{Text: "-", Colour: term.Good}, event(d.Mismatch.Expected))
		a.printf("  %s %s\n", term.Painted{Text: "+", Colour: term.Bad}, event(d.Mismatch.Actual))
		a.printf("The line with - is the history, the one with + is the code. Nothing is lost: start\nthe engine with code that fits, and the workflow goes on.\n")
	case d.Status == "waiting-for-code":
		a.printf("It waits for an engine that has its code. Nothing is lost.\n")
	default:
		a.printf("It is parked: its code could not run. Nothing is lost: start the engine with code\nthat can, and the workflow goes on.\n")
	}
}

// event is a command of a history as one line; nil is its end.
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

// pending shows the calls that are not closed.
func (a *app) pending(calls []perdure.PendingCall, now time.Time) error {
	if len(calls) == 0 {
		return nil
	}
	a.printf("\nIt is waiting for:\n\n")
	table := a.table("CALL", "KIND", "NAME", "STATE", "ATTEMPT", "NEXT", "NODE", "LAST ERROR")
	table.Indent = "  "
	table.Right(0)
	for _, p := range calls {
		next := ""
		if p.Next != nil {
			next = term.Until(*p.Next, now) + " (" + term.Time(*p.Next) + ")"
		}
		name, state := p.Name, p.State
		if p.Child != nil {
			name, state = p.Name+" "+p.Child.WorkflowID, cmp.Or(p.Child.Status, p.State)
		}
		table.Row(fmt.Sprint(p.Call), p.Kind, name, status(state), attemptOf(p), next, p.Node, a.clip(lastError(p), 60))
	}
	if err := table.Write(a.out); err != nil {
		return err
	}
	for _, p := range calls {
		if p.Policy != "" {
			a.printf("\n  Call %d: retried by %s\n", p.Call, p.Policy)
		}
		if p.Gate != nil {
			a.printf("\n  Call %d: %s\n", p.Call, gateWait(p.Gate))
		}
		if p.LastHeartbeat != nil {
			said := ""
			if p.Heartbeat != nil {
				said = ": " + a.clip(p.Heartbeat.String(), 120)
			}
			a.printf("\n  Call %d: last heartbeat %s (%s)%s\n", p.Call, term.Time(*p.LastHeartbeat), term.When(*p.LastHeartbeat, now), said)
		}
		if p.TimesOut != nil {
			a.printf("\n  Call %d: the attempt times out at %s (%s).\n", p.Call, term.Time(*p.TimesOut), term.When(*p.TimesOut, now))
		}
		if p.Deadline != nil {
			a.printf("\n  Call %d: no attempt starts after %s (%s).\n", p.Call, term.Time(*p.Deadline), term.When(*p.Deadline, now))
		}
		if p.LostToCrashes > 0 {
			a.printf("\n  Call %d: %s lost with the process that ran it.\n", p.Call, attemptsWere(p.LostToCrashes))
		}
		if p.State == "quarantined" {
			a.printf("\n  Call %d: the process died each time it ran, so it does not run again.\n", p.Call)
		}
		if c := p.Child; c != nil && (c.Status == "parked" || c.Status == "waiting-for-code") {
			a.printf("\n  Call %d: its child cannot go on; see: perdure show %s\n", p.Call, term.Quote(c.WorkflowID))
		}
		a.decide(p, now)
	}
	return nil
}

// parentOf says which call started a workflow.
func parentOf(id string, call int64, detached bool) string {
	if detached {
		return fmt.Sprintf("%s, which let it go (call %d)", id, call)
	}
	return fmt.Sprintf("%s (call %d)", id, call)
}

// gateWait says for what a call waits at a gate.
func gateWait(w *perdure.GateWait) string {
	text := "waiting for gate " + w.Name
	switch {
	case w.Verdict:
		text += " to say whether its budget allows a retry"
	case w.Place > 0:
		text += fmt.Sprintf(" (place %d of %d)", w.Place, w.Waiting)
	}
	if w.OpenUntil != nil {
		text += ", whose breaker is open until " + term.Time(*w.OpenUntil)
	}
	if p := w.Paused; p != nil {
		text += ", which is paused since " + term.Time(p.Since) + personOf(p.By, p.Why)
	}
	return text + "."
}

// decide says of a call that it waits for a person, and what one can do.
func (a *app) decide(p perdure.PendingCall, now time.Time) {
	if w := p.ActivityPaused; w != nil {
		a.printf("\n  Call %d: its activity is paused in the whole group since %s (%s)%s.\n", p.Call, term.Time(w.Since), term.When(w.Since, now), byAndWhy(w))
	}
	w := p.Paused
	switch {
	case w == nil:
		return
	case p.State == "running":
		a.printf("\n  Call %d: no attempt follows this one: paused %s%s.\n", p.Call, term.When(w.Since, now), byAndWhy(w))
	default:
		a.printf("\n  Call %d: waits since %s (%s)%s for somebody to decide: perdure retry-now, skip, fail or resume.\n",
			p.Call, term.Time(w.Since), term.When(w.Since, now), byAndWhy(w))
	}
}

// byAndWhy is who paused something and why, in the middle of a sentence.
func byAndWhy(w *perdure.PausedInfo) (text string) {
	if w.By != "" {
		text += ", by " + w.By
	}
	if w.Why != "" {
		text += " (" + w.Why + ")"
	}
	return text
}

func attemptsWere(n int) string {
	if n == 1 {
		return "1 attempt was"
	}
	return fmt.Sprintf("%d attempts were", n)
}

// attemptOf is which attempt a call is at, such as "3 of 5".
func attemptOf(p perdure.PendingCall) string {
	if p.State == "paused" || p.State == "quarantined" {
		p.Attempt-- // there may never be another one
	}
	switch {
	case p.Attempt == 0:
		return ""
	case p.Max == 0 || p.Max >= retry.Unlimited:
		return fmt.Sprint(p.Attempt)
	}
	return fmt.Sprintf("%d of %d", p.Attempt, p.Max)
}

func lastError(p perdure.PendingCall) string { return typed(p.LastErrorType, p.LastError) }

// typed is an error with its type, unless that says nothing.
func typed(name, message string) string {
	if name == "" || name == retry.TypeError || message == "" {
		return message
	}
	return name + ": " + message
}

// origin says where a run comes from, and what follows it.
func origin(d *perdure.Description, fact func(name, text string)) {
	if d.Schedule != nil {
		fact("schedule", d.Schedule.Name+", for "+term.Time(d.Schedule.Nominal))
	}
	fact("run before", d.After)
	fact("next run", d.Next)
	if b := d.Base; b != nil {
		fact("goes on", fmt.Sprintf("from call %d of run %s of %s", b.Call, b.RunID, b.WorkflowID)+personOf(b.By, b.Why))
	}
	if p := d.Parent; p != nil {
		fact("parent", parentOf(p.WorkflowID, p.Call, p.Detached))
	}
}
