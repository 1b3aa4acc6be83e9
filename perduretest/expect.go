package perduretest

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/perdure/perdure/view"
)

// The expectations below look at what is on record of the latest run of a
// workflow ID at this moment, open or closed. Where it is not as expected they
// fail the test, which continues, and show what is on record.

// ExpectCalls expects that the run has called these activities and steps (see
// Step), in this order, and no others. How many attempts each took does not
// matter.
func (e *Env) ExpectCalls(id string, calls ...Target) {
	e.t.Helper()
	want := make([]string, len(calls))
	for i, d := range calls {
		want[i] = d.Name()
	}
	var got []string
	for _, ev := range e.Workflow(id).History() {
		if ev.Kind == "ActivityScheduled" || ev.Kind == "StepScheduled" {
			got = append(got, ev.Name)
		}
	}
	e.expect(id, fmt.Sprintf("the calls of %q", id), got, want, nil)
}

// ExpectAttempts expects how the attempts of an activity or step ended, in order:
// "failed", "timed-out", "lost", "completed" ... (see view.Attempt). If the run
// called it several times, the attempts of the first call come first.
func (e *Env) ExpectAttempts(id string, d Target, outcomes ...string) {
	e.t.Helper()
	e.expectAttempts(id, d, "outcomes", outcomes, func(a view.Attempt) (string, bool) { return a.Outcome, true })
}

// ExpectDelays expects the waits that were chosen between the attempts of an activity or
// step, in order: one for every attempt that was to be followed by another. Jitter is
// drawn from Seed; with retry.NoJitter waits are exact.
func (e *Env) ExpectDelays(id string, d Target, delays ...time.Duration) {
	e.t.Helper()
	want := make([]string, len(delays))
	for i, delay := range delays {
		want[i] = delay.String()
	}
	e.expectAttempts(id, d, "delays", want, func(a view.Attempt) (string, bool) { return a.Delay.String(), a.Next != nil })
}

// ExpectReasons expects why each attempt of an activity or step was, or was not,
// followed by another one, in order: "backoff", "max_attempts", "succeeded" ...
// (see retry.Reason).
func (e *Env) ExpectReasons(id string, d Target, reasons ...string) {
	e.t.Helper()
	e.expectAttempts(id, d, "reasons", reasons, func(a view.Attempt) (string, bool) { return a.Reason, true })
}

// ExpectNothingPending expects that no call of the run is open: no activity, no
// timer, no wait for a signal.
func (e *Env) ExpectNothingPending(id string) {
	e.t.Helper()
	var got []string
	for _, p := range e.Workflow(id).Describe().Pending {
		got = append(got, fmt.Sprintf("%s %q, %s", p.Kind, p.Name, p.State))
	}
	e.expect(id, fmt.Sprintf("the pending calls of %q", id), got, nil, nil)
}

func (e *Env) expectAttempts(id string, d Target, what string, want []string, show func(view.Attempt) (string, bool)) {
	e.t.Helper()
	attempts := slices.DeleteFunc(e.Workflow(id).Attempts(), func(a view.Attempt) bool { return a.Name != d.Name() })
	var got []string
	for _, a := range attempts {
		if text, has := show(a); has {
			got = append(got, text)
		}
	}
	e.expect(id, fmt.Sprintf("the %s of the attempts of %q in %q", what, d.Name(), id), got, want, attempts)
}

// expect compares, and shows the attempts where there is a difference: these, or
// all of the run.
func (e *Env) expect(id, what string, got, want []string, attempts []view.Attempt) {
	e.t.Helper()
	if slices.Equal(got, want) {
		return
	}
	if attempts == nil {
		attempts = e.Workflow(id).Attempts()
	}
	e.t.Errorf("%s:\n  got  %s\n  want %s\n%s", what, list(got), list(want), e.ledger(id, attempts))
}

func list(texts []string) string {
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, " | ")
}

// ledger shows where a run stands, and attempts, as a table.
func (e *Env) ledger(id string, attempts []view.Attempt) string {
	var b strings.Builder
	d := e.Workflow(id).Describe()
	fmt.Fprintf(&b, "On record: the run is %s", d.Status)
	if d.Reason != "" {
		fmt.Fprintf(&b, " (%s)", d.Reason)
	}
	if d.Failure != nil {
		fmt.Fprintf(&b, ", failed with %q", d.Failure.Message)
	}
	if len(attempts) == 0 {
		b.WriteString("; no attempts.")
		return b.String()
	}
	b.WriteString(".\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  call\tname\tattempt\tstarted\toutcome\treason\tdelay\terror")
	for _, a := range attempts {
		started, delay := "", ""
		if a.Started != nil {
			started = "+" + a.Started.Sub(d.Created).String()
		}
		if a.Next != nil {
			delay = a.Delay.String()
		}
		fmt.Fprintf(table, "  %d\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", a.Call, a.Name, a.Number, started, a.Outcome, a.Reason, delay, a.Message)
	}
	_ = table.Flush() // a strings.Builder takes everything
	return strings.TrimRight(b.String(), "\n")
}
