package witness

import (
	"context"
	"fmt"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
)

// Completions notes which calls were seen completed, and how long the book was
// when they were.
type Completions map[string]int // by idempotency key

// observe reads a run's history and notes the calls that are closed for good.
func (c Completions) observe(ctx context.Context, e *perdure.Engine, r Run, b *Book) error {
	var events []view.Event
	err := Patiently(ctx, func() (err error) {
		events, err = e.Workflow(r.ID).History(ctx)
		return err
	})
	if err != nil {
		return err
	}
	length := b.Length() // whatever is entered from here on was begun later
	for _, ev := range events {
		if ev.Kind == "CallCompleted" || ev.Kind == "CallFailed" || ev.Kind == "CallCanceled" {
			key := fmt.Sprintf("%s/%d", r.RunID, ev.Call)
			if _, known := c[key]; !known {
				c[key] = length
			}
		}
	}
	return nil
}

// Case is what there is to judge at the end.
type Case struct {
	Engine  *perdure.Engine
	Entries []Entry
	Runs    []Run
	Closed  Completions

	// Zombies says that processes may have gone on that others took for dead. What
	// they executed then, nobody could prevent; but it must be on record as lost.
	Zombies bool
	// Clocks says that the test set clocks, which the doctor may find.
	Clocks bool
	// Limits says how many attempts of the queue each process that serves it runs at a time.
	// Without it, who does is not looked at.
	Limits map[string]int
}

// Judge reads the book against what the engine itself has on record.
func (c Case) Judge(t testing.TB) {
	t.Helper()
	begun := map[string][]Entry{}
	for _, e := range c.Entries {
		if e.Phase == Begin {
			begun[e.Workflow] = append(begun[e.Workflow], e)
		}
	}
	lost := map[string]bool{} // attempts that were
	for _, r := range c.Runs {
		c.judgeLedger(t, r, begun[r.ID], lost)
		c.judgeHistory(t, r)
	}
	c.judgeOrder(t, lost)
	c.judgeGate(t, lost)
	c.judgeQueue(t, lost)
	c.judgeDatabase(t)
}

// judgeDatabase lets the doctor look for what is damaged, missing, left behind or belongs
// to nothing.
func (c Case) judgeDatabase(t testing.TB) {
	t.Helper()
	found, err := ops.Doctor(context.Background(), c.Engine, view.DoctorFilter{})
	if err != nil {
		t.Error(err)
		return
	}
	for _, f := range found.Findings {
		switch f.Kind {
		case view.FindingPool, view.FindingBlocking: // of other tests on the same server, at this moment
		case view.FindingClock:
			if !c.Clocks {
				t.Errorf("the doctor finds: %+v", f)
			}
		default:
			t.Errorf("the doctor finds: %+v", f)
		}
	}
}

// judgeOrder looks for executions that must not have been.
func (c Case) judgeOrder(t testing.TB, lost map[string]bool) {
	t.Helper()
	runs := map[string]Run{}
	for _, r := range c.Runs {
		runs[r.ID] = r
	}
	attempts := map[string]bool{}
	number := map[string]int{}
	tags := map[string]string{}
	order := map[string]int{}
	for i, e := range c.Entries {
		if e.Phase != Begin {
			continue
		}
		r, known := runs[e.Workflow]
		tag, tagged := tags[e.Key]
		tags[e.Key] = e.Tag
		switch {
		case attempts[e.Attempt]:
			t.Errorf("entry %d: attempt %s ran twice", i, e.Attempt)
		case !known:
			t.Errorf("entry %d: nobody started %s", i, e.Workflow)
		case tagged && tag != e.Tag:
			t.Errorf("entry %d: call %s was handed %q and then %q", i, e.Key, tag, e.Tag)
		case r.Tag != "" && e.Tag != r.Tag:
			t.Errorf("entry %d: %s of %s was handed %q, and the workflow's result is %q", i, e.Step, e.Workflow, e.Tag, r.Tag)
		}
		attempts[e.Attempt] = true
		if c.Zombies && lost[e.Attempt] {
			continue
		}
		at, closed := c.Closed[e.Key]
		switch {
		case e.Number <= number[e.Key]:
			t.Errorf("entry %d: call %s ran attempt %d after attempt %d", i, e.Key, e.Number, number[e.Key])
		case closed && i >= at:
			t.Errorf("entry %d: call %s (%s of %s) ran in %s although it was closed at entry %d", i, e.Key, e.Step, e.Workflow, e.Process, at)
		case e.Step == "slow": // the loser of the race may be given up between its start and its entry
		case e.Order < order[e.Workflow]:
			t.Errorf("entry %d: step %s of %s ran in %s again after a later one", i, e.Step, e.Workflow, e.Process)
		case known && i >= r.Over:
			t.Errorf("entry %d: %s ran in %s after the end of %s was known", i, e.Step, e.Process, e.Workflow)
		}
		number[e.Key] = e.Number
		order[e.Workflow] = e.Order
	}
}

// judgeLedger looks for executions without a record, for gaps, and for calls that
// are on record as completed and that nobody executed. It notes which attempts
// were lost.
func (c Case) judgeLedger(t testing.TB, r Run, begun []Entry, lost map[string]bool) {
	t.Helper()
	attempts, err := c.Engine.Workflow(r.ID).Attempts(context.Background())
	if err != nil {
		t.Error(err)
		return
	}
	executed := map[string]string{} // by attempt, by whom
	for _, e := range begun {
		executed[e.Attempt] = e.Process
	}
	last := map[int64]int{}
	for _, a := range attempts {
		if a.Number != last[a.Call]+1 {
			t.Errorf("%s: attempt %d of call %d follows attempt %d", r.ID, a.Number, a.Call, last[a.Call])
		}
		last[a.Call] = a.Number
		if a.Outcome == "" || a.Reason == "" {
			t.Errorf("%s: attempt %s has outcome %q and reason %q, want both", r.ID, a.ID, a.Outcome, a.Reason)
		}
		if _, ran := executed[a.ID]; a.Outcome == "completed" && !ran {
			t.Errorf("%s: attempt %s of %s is on record as completed and not in the book", r.ID, a.ID, a.Name)
		}
		lost[a.ID] = a.Outcome == "lost"
		delete(executed, a.ID)
	}
	for attempt, process := range executed {
		t.Errorf("%s: attempt %s of %s is in the book and not on record", r.ID, attempt, process)
	}
}

// judgeHistory looks for second results and for a second end.
func (c Case) judgeHistory(t testing.TB, r Run) {
	t.Helper()
	events, err := c.Engine.Workflow(r.ID).History(context.Background())
	if err != nil {
		t.Error(err)
		return
	}
	closed := map[int64]string{}
	turn := int64(0)
	for i, e := range events {
		if e.Turn != turn && e.Turn != turn+1 {
			t.Errorf("%s: turn %d follows turn %d", r.ID, e.Turn, turn)
		}
		turn = e.Turn
		switch e.Kind {
		case "CallCompleted", "CallFailed", "CallCanceled", "TimerFired", "TimerCanceled":
			if before := closed[e.Call]; before != "" {
				t.Errorf("%s: call %d has the results %s and %s", r.ID, e.Call, before, e.Kind)
			}
			closed[e.Call] = e.Kind
		case "RunCompleted", "RunFailed", "RunCanceled", "RunTerminated", "RunTimedOut":
			if i != len(events)-1 {
				t.Errorf("%s: %s is event %d of %d", r.ID, e.Kind, i+1, len(events))
			}
		}
	}
}
