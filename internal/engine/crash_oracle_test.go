package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// account is what a run of a shape came to.
type account struct {
	outcome    string         // of the run, as its caller sees it
	again      string         // the same, asked of a later engine
	calls      []string       // what the history says of each call
	executions map[string]int // by name and input
	effects    []string       // that step transactions had in the end
	attempts   []view.Attempt
	status     string          // that its code gave itself
	meddled    map[int64]bool  // calls on which somebody did something
	begun      []time.Duration // how long after its backoff the code of each run began
	crashes    int
	writes     int           // to the database
	took       time.Duration // until its outcome was known
}

// workflow is the code of a shape.
func (s shape) workflow(b *book) workflow.Workflow[string, string] {
	flow := theFlow
	if s.policy != nil {
		flow = workflow.Declare[string, string](theFlow.Name(), workflow.RetryPolicy(*s.policy))
	}
	if s.pinned {
		flow = workflow.Declare[string, string](theFlow.Name(), workflow.Pinned())
	}
	return flow.Impl(s.flow(b))
}

// register hands the code of a shape to the engines to come.
func (s shape) register(t *testing.T, env *perduretest.Env, b *book) {
	t.Helper()
	env.Register(s.workflow(b))
	if s.child != nil {
		env.Register(theChild.Impl(s.child(b)))
	}
	if s.bodies == nil {
		return
	}
	for name, body := range s.bodies(b) {
		switch name {
		case work.Name():
			env.Register(work.Impl(kept(b, body)))
		case more.Name():
			env.Register(more.Impl(kept(b, body)))
		case cleanup.Name():
			env.Register(cleanup.Impl(kept(b, body)))
		default:
			t.Fatalf("There is no activity %q.", name)
		}
	}
}

// play runs a shape to its end, stops the engine in good order, starts another
// one and reads there what happened.
func play(t *testing.T, env *perduretest.Env, s shape, b *book) account {
	t.Helper()
	began := time.Now()
	h, err := perduretest.Start(env, theFlow, theID, "in", s.start...)
	if err != nil {
		t.Fatal(err)
	}
	if s.meddle != nil {
		s.meddle(t, env)
	}
	if s.outside != nil {
		s.outside(t, env, b)
	}
	a := account{executions: map[string]int{}}
	a.outcome = outcome(h.Result())
	a.took = time.Since(began)
	time.Sleep(5 * time.Second) // reads that failed are tried again within that
	if s.outlived {
		awaitFamily(t, env)
		time.Sleep(5 * time.Second)
	}
	if s.gated {
		time.Sleep(time.Minute) // the writes that come after the result may meet an outage
	}
	if err := env.Engine().Health(); err != nil {
		t.Errorf("After the run the engine says: %v", err)
	}
	remains, err := b.remains(t.Context())
	if s.asked { // an answer that nobody comes for is removed later
		remains = slices.DeleteFunc(remains, func(what string) bool { return what == "message answer" })
	}
	if len(remains) > 0 || err != nil {
		t.Errorf("After the run the database has: %v, %v", remains, err)
	}
	env.Restart()
	a.again = outcome(h.Result())
	if d, err := env.Engine().Workflow(theID).Describe(t.Context()); err != nil {
		t.Error(err)
	} else {
		a.status = d.CustomStatus
	}
	var histories [][]view.Event
	for _, id := range family(t, env) {
		for _, run := range chainsOf(t, env, id) {
			events, attempts := env.Workflow(id).OfRun(run.RunID).History(), env.Workflow(id).OfRun(run.RunID).Attempts()
			judgeHistory(t, events)
			judgeSums(t, env.Engine(), id, run.RunID, attempts)
			histories = append(histories, ownEvents(t, events))
			a.add(callsOf(t, events), ownAttempts(attempts), s.anyOrder)
			if has := env.Workflow(id).OfRun(run.RunID).Describe().Attributes; len(has) > 0 {
				a.calls = append(a.calls, fmt.Sprint("found by ", has))
			}
			a.begun = append(a.begun, lateness(run, events)...)
		}
		if id != theID {
			a.calls = append(a.calls, id+" is "+env.Workflow(id).Describe().Status)
		}
	}
	made := 0
	for _, at := range a.attempts {
		if at.Outcome != "refused" { // which is no attempt
			made++
		}
	}
	judgeStats(t, env.Engine(), made, histories)
	judgeDatabase(t, env.Engine())
	a.meddled = meddledWith(t, env)
	a.crashes, a.writes, a.effects = env.Crashes(), env.Writes(), b.effects
	for _, x := range b.executions {
		a.executions[masked(x.what)]++
	}
	return a
}

// judgeDatabase lets the doctor look for what is damaged, missing, left behind or belongs
// to nothing: after whatever was done to an engine there is none.
func judgeDatabase(t *testing.T, e *perdure.Engine) {
	t.Helper()
	found, err := ops.Doctor(t.Context(), e, view.DoctorFilter{})
	if err != nil {
		t.Error(err)
		return
	}
	for _, f := range found.Findings {
		t.Errorf("the doctor finds %+v", f)
	}
}

// add takes a run of the chain into account.
func (a *account) add(calls []string, attempts []view.Attempt, anyOrder bool) {
	if anyOrder {
		slices.Sort(calls)
	}
	a.calls, a.attempts = append(a.calls, calls...), append(a.attempts, attempts...)
}

// ofTheRun is the number of no call: an operation was one on the run.
const ofTheRun = 0

// meddledWith are the calls whose next attempt may come before it is due, because
// a person said so, or after, because one had it wait.
func meddledWith(t *testing.T, env *perduretest.Env) map[int64]bool {
	t.Helper()
	records, err := env.Engine().Workflow(theID).Audit(t.Context())
	if err != nil {
		t.Error(err)
	}
	calls := map[int64]bool{}
	for _, r := range records {
		calls[r.Call] = true
	}
	return calls
}

// outcome is a result or an error without what may differ: messages that say how
// many attempts it took.
func outcome(result string, err error) string {
	if err == nil {
		return "completed with " + masked(result)
	}
	var end *perdure.RunError
	if !errors.As(err, &end) {
		return "no result: " + err.Error()
	}
	return fmt.Sprintf("%s with %v", end.Status, retry.Classify(end.Err).Types)
}

// drawn matches what side effects made, and run IDs.
var drawn = regexp.MustCompile(`\br\d+\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// masked hides it.
func masked(s string) string { return drawn.ReplaceAllString(s, "r#") }

// callsOf says for each call, in the order in which the code made them, what it
// was and how it ended; then what else the history has on record.
func callsOf(t *testing.T, events []view.Event) []string {
	t.Helper()
	begun := map[int64]string{}
	ended := map[int64]string{}
	var order []int64
	var rest []string
	for _, view := range events[1:] {
		raw, err := json.Marshal(view)
		if err != nil {
			t.Fatal(err)
		}
		var e history.Event
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		failure := ""
		if e.Failure != nil {
			failure = e.Failure.TypeName()
		}
		switch e.Kind {
		case history.ActivityScheduled, history.StepScheduled, history.TimerStarted, history.SignalAwaited, history.SideEffectRecorded, history.VersionMarked, history.BlockStarted, history.CallRefused:
			order = append(order, e.Call)
			begun[e.Call] = fmt.Sprintf("%s %s(%s)%s v%d", e.Kind, e.Name, e.Input.Data, e.Result.Data, e.Version)
		case history.AttributeSet, history.AttributeRemoved:
			rest = append(rest, fmt.Sprintf("%s %s %s", e.Kind, e.Name, e.Input.Data))
		case history.SignalSent:
			rest = append(rest, fmt.Sprintf("%s %s to %s %s", e.Kind, e.Name, e.ID, e.Input.Data))
		case history.ChildScheduled, history.DetachedScheduled:
			order = append(order, e.Call)
			begun[e.Call] = fmt.Sprintf("%s %s(%s) %s %s", e.Kind, e.Name, e.Input.Data, e.ID, e.Child.OnParentClose)
		case history.CallCompleted, history.CallFailed, history.CallCanceled, history.TimerFired, history.TimerCanceled:
			ended[e.Call] = fmt.Sprintf("%s %s%s", e.Kind, e.Result.Data, failure)
			if e.Child != nil {
				ended[e.Call] += " " + e.Child.Status
			}
		case history.CallCancelRequested:
			if e.Closed {
				// The code sees the same as when an attempt of it was waited for.
				ended[e.Call] = fmt.Sprintf("%s %s", history.CallCanceled, retry.TypeCanceled)
			}
		case history.SignalReceived, history.RunCancelRequested:
			rest = append(rest, fmt.Sprintf("%s %s %s%s%s", e.Kind, e.Name, e.ID, e.Input.Data, e.Reason))
		case history.UpdateAccepted, history.UpdateCompleted:
			rest = append(rest, fmt.Sprintf("%s %s %s%s%s%s", e.Kind, e.Name, e.ID, e.Input.Data, e.Result.Data, failure))
		case history.RunContinued:
			rest = append(rest, fmt.Sprintf("%s %s%s %s %d %s", e.Kind, e.Name, e.Input.Data, e.Initiator, e.Attempt, failure))
		case history.RunCompleted, history.RunFailed, history.RunCanceled, history.RunTerminated, history.RunTimedOut:
			rest = append(rest, fmt.Sprintf("%s %s%s", e.Kind, e.Result.Data, failure))
		case history.CallControlled, history.RunControlled:
			if e.Kind == history.RunControlled && e.Outcome == "unchanged" {
				break // who did not hear the answer asked again
			}
			rest = append(rest, fmt.Sprintf("%s of %d %s %s %s: %s", e.Operation, e.Call, e.ID, e.By, e.Reason, e.Outcome))
		case history.RunPinned:
			rest = append(rest, fmt.Sprintf("%s %s", e.Kind, e.Name))
		case history.AttemptStarted, history.CodeAdvanced, history.CodeDeferred:
		default:
			t.Errorf("nobody expects %s in this history", e.Kind)
		}
	}
	var calls []string
	for _, n := range order {
		calls = append(calls, masked(begun[n]+": "+ended[n]))
	}
	return append(calls, masked(fmt.Sprint(rest)))
}

// judge holds a run with faults against the one without. The slack is how long
// the fault kept the engine from its work.
func judge(t *testing.T, got, want account, b *book, slack time.Duration) {
	t.Helper()
	for _, f := range b.faults {
		t.Errorf("The book says: %s.", f)
	}
	if got.outcome != want.outcome || got.again != want.again {
		t.Errorf("The run %s, and later %s; without faults it %s.", got.outcome, got.again, want.outcome)
	}
	if got.status != want.status {
		t.Errorf("The run says that it is at %q; without faults it says %q.", got.status, want.status)
	}
	if !slices.Equal(got.calls, want.calls) {
		t.Errorf("The history says\n%s\nand without faults\n%s", lines(got.calls), lines(want.calls))
	}
	if !slices.Equal(got.effects, want.effects) {
		t.Errorf("The user's own table has %q, and without faults %q.", got.effects, want.effects)
	}
	judgeAttempts(t, got, b, slack)
	for _, late := range got.begun {
		if late < 0 || late > slack {
			t.Errorf("The code of a run began %s after its backoff.", late)
		}
	}
	for call, pauses := range b.pauses {
		if told := b.told[call]; told < pauses || told > pauses && got.crashes == 0 {
			t.Errorf("The engine paused call %s %d times and told of it %d times.", call, pauses, told)
		}
	}
	if got.crashes > 0 {
		return
	}
	// The process lived on: nothing may have run twice.
	for what, n := range got.executions {
		if n != want.executions[what] {
			t.Errorf("%s ran %d times, without faults %d times.", what, n, want.executions[what])
		}
	}
}

func lines(all []string) (text string) {
	for _, s := range all {
		text += "  " + s + "\n"
	}
	return text
}

// judgeAttempts compares the ledger with the book.
func judgeAttempts(t *testing.T, a account, b *book, slack time.Duration) {
	t.Helper()
	type attemptOf struct {
		callID string
		number int
	}
	ran := map[attemptOf]*execution{}
	for _, x := range b.executions {
		ran[attemptOf{x.callID, x.attempt}] = x
	}
	lost := map[string]int{}
	callOf := func(at view.Attempt) string { return at.ID[:len(at.ID)-len(fmt.Sprintf(".%d", at.Number))] }
	for i, at := range a.attempts {
		id := callOf(at)
		key := attemptOf{id, at.Number}
		x := ran[key]
		delete(ran, key)
		first := i == 0 || callOf(a.attempts[i-1]) != id
		switch {
		case at.Reason == "":
			t.Errorf("Attempt %d of call %d has no cause on record.", at.Number, at.Call)
		case first && at.Number != 1, !first && at.Number != a.attempts[i-1].Number+1:
			t.Errorf("Attempt %d of call %d does not follow the one before.", at.Number, at.Call)
		case !first && a.attempts[i-1].Outcome == "completed":
			t.Errorf("Attempt %d of call %d follows one that completed.", at.Number, at.Call)
		}
		if !first && !a.meddled[at.Call] && !a.meddled[ofTheRun] {
			judgeDelay(t, a.attempts[i-1], at, slack)
		}
		if x != nil && x.endedOutside(at.Outcome) {
			continue
		}
		switch at.Outcome {
		case "completed":
			if x == nil || x.outcome != "succeeded" {
				t.Errorf("Attempt %d of call %d completed, and the book has %+v.", at.Number, at.Call, x)
			}
		case "failed":
			if x == nil || x.outcome != "failed" && x.outcome != "panicked" {
				t.Errorf("Attempt %d of call %d failed, and the book has %+v.", at.Number, at.Call, x)
			}
		case "lost":
			if lost[id]++; lost[id] > a.crashes {
				t.Errorf("Call %d lost %d attempts in %d crashes.", at.Call, lost[id], a.crashes)
			}
		case "refused":
			if x != nil {
				t.Errorf("Attempt %d of call %d was refused, and the book has %+v.", at.Number, at.Call, x)
			}
		case "canceled", "timed-out", "drained":
		default:
			t.Errorf("Attempt %d of call %d is %q in the end.", at.Number, at.Call, at.Outcome)
		}
	}
	for key := range ran {
		t.Errorf("Attempt %d of %s ran and is not in the ledger.", key.number, key.callID)
	}
}

// judgeDelay checks that an attempt was ready at the time that the previous attempt recorded
// (I7), even if the process died in between (E5).
func judgeDelay(t *testing.T, before, at view.Attempt, slack time.Duration) {
	t.Helper()
	if before.Next == nil || at.Queued == nil {
		return
	}
	if late := at.Queued.Sub(*before.Next); late < 0 || late > slack {
		t.Errorf("Attempt %d of call %d was ready %s after it was due.", at.Number, at.Call, late)
	}
}
