package killtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/perdure/perdure"
)

// completions notes which calls were seen completed, and how long the book was
// when they were.
type completions map[string]int // by idempotency key

// observe reads a run's history and notes the calls that are closed for good.
func (c completions) observe(ctx context.Context, eng *perdure.Engine, r run, b *book) error {
	var events []perdure.Event
	err := patiently(ctx, func() (err error) {
		events, err = eng.History(ctx, r.id)
		return err
	})
	if err != nil {
		return err
	}
	length := b.length() // whatever is entered from here on was begun later
	for _, e := range events {
		if e.Kind == "CallCompleted" || e.Kind == "CallFailed" || e.Kind == "CallCanceled" {
			key := fmt.Sprintf("%s/%d", r.run, e.Call)
			if _, known := c[key]; !known {
				c[key] = length
			}
		}
	}
	return nil
}

// judge reads the book against what the engine itself has on record.
func judge(t *testing.T, eng *perdure.Engine, entries []entry, runs []run, closed completions) {
	t.Helper()
	byRun := map[string]run{}
	for _, r := range runs {
		byRun[r.id] = r
	}
	judgeOrder(t, entries, byRun, closed)
	begun := map[string][]entry{}
	for _, e := range entries {
		if e.Phase == "begin" {
			begun[e.Workflow] = append(begun[e.Workflow], e)
		}
	}
	for _, r := range runs {
		judgeLedger(t, eng, r, begun[r.id])
		judgeHistory(t, eng, r)
	}
}

// judgeOrder looks for executions that must not have been.
func judgeOrder(t *testing.T, entries []entry, runs map[string]run, closed completions) {
	t.Helper()
	attempts := map[string]bool{}
	number := map[string]int{}
	tags := map[string]string{}
	order := map[string]int{}
	for i, e := range entries {
		if e.Phase != "begin" {
			continue
		}
		if attempts[e.Attempt] {
			t.Errorf("entry %d: attempt %s ran twice", i, e.Attempt)
		}
		attempts[e.Attempt] = true
		if e.Number <= number[e.Key] {
			t.Errorf("entry %d: call %s ran attempt %d after attempt %d", i, e.Key, e.Number, number[e.Key])
		}
		number[e.Key] = e.Number
		if at, done := closed[e.Key]; done && i >= at {
			t.Errorf("entry %d: call %s (%s of %s) ran although it was closed at entry %d", i, e.Key, e.Step, e.Workflow, at)
		}
		if tag, known := tags[e.Key]; known && tag != e.Tag {
			t.Errorf("entry %d: call %s was handed %q and then %q", i, e.Key, tag, e.Tag)
		}
		tags[e.Key] = e.Tag
		// The loser of the race may be given up between its start and its entry.
		if e.Order < order[e.Workflow] && e.Step != "slow" {
			t.Errorf("entry %d: step %s of %s ran again after a later one", i, e.Step, e.Workflow)
		}
		order[e.Workflow] = e.Order
		r, known := runs[e.Workflow]
		switch {
		case !known:
			t.Errorf("entry %d: nobody started %s", i, e.Workflow)
		case i >= r.over && e.Step != "slow":
			t.Errorf("entry %d: %s ran after the end of %s was known", i, e.Step, e.Workflow)
		case r.tag != "" && e.Tag != r.tag:
			t.Errorf("entry %d: %s of %s was handed %q, and the workflow's result is %q", i, e.Step, e.Workflow, e.Tag, r.tag)
		}
	}
}

// judgeLedger looks for executions without a record, and for gaps.
func judgeLedger(t *testing.T, eng *perdure.Engine, r run, begun []entry) {
	t.Helper()
	attempts, err := eng.Attempts(t.Context(), r.id)
	if err != nil {
		t.Error(err)
		return
	}
	known := map[string]perdure.Attempt{}
	last := map[int64]int{}
	for _, a := range attempts {
		known[a.ID] = a
		if a.Number != last[a.Call]+1 {
			t.Errorf("%s: attempt %d of call %d follows attempt %d", r.id, a.Number, a.Call, last[a.Call])
		}
		last[a.Call] = a.Number
		if a.Outcome == "" || a.Reason == "" {
			t.Errorf("%s: attempt %s has outcome %q and reason %q, want both", r.id, a.ID, a.Outcome, a.Reason)
		}
	}
	for _, e := range begun {
		if _, ok := known[e.Attempt]; !ok {
			t.Errorf("%s: attempt %s (%s, life %d) is in the book and not on record", r.id, e.Attempt, e.Step, e.Life)
		}
	}
}

// judgeHistory looks for second results and for a second end.
func judgeHistory(t *testing.T, eng *perdure.Engine, r run) {
	t.Helper()
	events, err := eng.History(t.Context(), r.id)
	if err != nil {
		t.Error(err)
		return
	}
	closed := map[int64]string{}
	turn := int64(0)
	for i, e := range events {
		if e.Turn != turn && e.Turn != turn+1 {
			t.Errorf("%s: turn %d follows turn %d", r.id, e.Turn, turn)
		}
		turn = e.Turn
		switch e.Kind {
		case "CallCompleted", "CallFailed", "CallCanceled", "TimerFired", "TimerCanceled":
			if before := closed[e.Call]; before != "" {
				t.Errorf("%s: call %d has the results %s and %s", r.id, e.Call, before, e.Kind)
			}
			closed[e.Call] = e.Kind
		case "RunCompleted", "RunFailed", "RunCanceled", "RunTerminated":
			if i != len(events)-1 {
				t.Errorf("%s: %s is event %d of %d", r.id, e.Kind, i+1, len(events))
			}
		}
	}
}
