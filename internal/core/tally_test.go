package core_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/workflow"
)

// keepTallies adds up what the turns count. When the run has ended, every call
// must be counted once, with its attempts, however often the machine was lost.
func (d *driver) keepTallies(turn *core.Turn) {
	d.t.Helper()
	if len(turn.Tallies) > 0 && len(turn.Events) == 0 {
		d.t.Errorf("a turn without events counts: if it is repeated, it counts twice")
	}
	for _, t := range turn.Tallies {
		sum := d.counts[t.Name]
		sum.Name = t.Name
		sum.FirstTry += t.FirstTry
		sum.Recovered += t.Recovered
		sum.Exhausted += t.Exhausted
		sum.Failed += t.Failed
		sum.Canceled += t.Canceled
		sum.ByHand += t.ByHand
		sum.Attempts += t.Attempts
		sum.Retrying += t.Retrying
		d.counts[t.Name] = sum
	}
	d.checkTotals()
	if turn.Ended {
		d.checkTallies()
	}
}

// checkTallies compares the counters with the history and the ledger.
func (d *driver) checkTallies() {
	d.t.Helper()
	want := map[string]core.Tally{}
	names := map[int64]string{}
	made := map[int64]int{}
	for ref := range d.begun {
		made[ref.Call] = max(made[ref.Call], ref.Attempt)
	}
	for _, rec := range d.ledger {
		if rec.Outcome != core.RefusedByGate {
			made[rec.Call] = max(made[rec.Call], rec.Attempt)
		}
	}
	for _, turn := range d.turns {
		events, err := history.DecodeTurn(turn.events)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, e := range events {
			if d.before[e.Call] {
				continue
			}
			sum := want[names[e.Call]]
			switch e.Kind {
			case history.ActivityScheduled, history.StepScheduled:
				names[e.Call] = e.Name
				sum = want[e.Name]
				sum.Name = e.Name
				sum.Attempts += made[e.Call]
				sum.Canceled++ // until something else is heard of it
			case history.CallCompleted:
				sum.Canceled--
				if e.Operation != "" {
					sum.ByHand++
				} else if e.Retry == nil {
					sum.FirstTry++
				} else {
					sum.Recovered++
				}
			case history.CallFailed:
				sum.Canceled--
				if e.Operation != "" {
					sum.ByHand++
				} else if e.Retry != nil && e.Retry.Exhausted {
					sum.Exhausted++
				} else {
					sum.Failed++
				}
			}
			if names[e.Call] != "" {
				want[names[e.Call]] = sum
			}
		}
	}
	got := map[string]core.Tally{}
	for name, sum := range d.counts {
		if name == core.BlockName {
			continue // of which the history alone does not say how it ended
		}
		sum.Retrying = 0 // see checkTotals
		got[name] = sum
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		d.t.Errorf("the turns count\n%+v\nthe history and the ledger say\n%+v", got, want)
	}
}

// checkTotals compares the totals that each ledger record carries with the
// records themselves, of which the driver keeps all.
func (d *driver) checkTotals() {
	d.t.Helper()
	sums := map[int64]core.Totals{}
	last := map[int64]int{}
	for _, rec := range d.ledger {
		var detail core.AttemptDetail
		if err := json.Unmarshal(rec.Data, &detail); err != nil {
			d.t.Fatal(err)
		}
		if rec.Attempt <= last[rec.Call] {
			d.t.Errorf("attempt %d.%d is recorded after attempt %d", rec.Call, rec.Attempt, last[rec.Call])
		}
		last[rec.Call] = rec.Attempt
		sum, known := sums[rec.Call]
		if rec.Outcome == core.RefusedByGate { // which is no attempt
			if detail.Totals == nil || *detail.Totals != sum {
				d.t.Fatalf("the totals of call %d are %+v when an attempt is refused, and %+v before", rec.Call, detail.Totals, sum)
			}
			continue
		}
		if !known {
			sum.First, sum.FirstEnded = detail.Queued, rec.Ended
		}
		switch rec.Outcome {
		case core.Completed:
			sum.Completed++
		case core.Failed:
			sum.Failed++
		case core.TimedOut:
			sum.TimedOut++
		case core.Lost:
			sum.Lost++
		case core.Drained:
			sum.Drained++
		case core.Canceled:
			sum.Canceled++
		}
		if rec.Started != 0 {
			sum.Run += time.Duration(rec.Ended - rec.Started)
		}
		sum.Backoff += detail.Delay
		sum.Last = rec.Ended
		sums[rec.Call] = sum
		if detail.Totals == nil || *detail.Totals != sum {
			d.t.Fatalf("the totals of call %d after attempt %d are %+v, its records say %+v", rec.Call, rec.Attempt, detail.Totals, sum)
		}
	}
}

// A call is counted once: a success at the first try with the next call that ends
// otherwise, with the 32nd of its kind, or with the end of the run; all else at
// once.
func TestE22_CallsAreCountedOnce(t *testing.T) {
	const calls = 40
	d := newDriver(t, codeOf(func(wf *workflow.Context, _ int) (int, error) {
		for range calls {
			workflow.Call(wf, charge, 1)
		}
		return calls, nil
	}), 0)
	var got []string
	for n := 1; !d.run.Ended(); n++ {
		if n%3 == 0 { // however often the code is loaded again
			if err := d.reload(d.code); err != nil {
				t.Fatal(err)
			}
		}
		d.now += int64(time.Second)
		var inputs []core.Input
		for _, ref := range d.alive() {
			end := core.AttemptEnded{Call: ref.Call, Attempt: ref.Attempt, Outcome: core.Completed, Ended: d.now}
			end.Result, _ = history.Encode("paid")
			if ref.Call == 3 && ref.Attempt == 1 || ref.Call == 38 {
				end.Outcome, end.Failure = core.Failed, history.FromError(&scriptError{"NetworkError", "no"})
			}
			inputs = append(inputs, end)
		}
		turn, err := d.step(inputs, anySlot)
		if err != nil {
			t.Fatal(err)
		}
		if len(turn.Tallies) > 0 {
			got = append(got, fmt.Sprintf("turn %d: %+v", turn.Number, turn.Tallies))
		}
	}
	want := []string{
		"turn 4: [{Name:charge Took:3.072s FirstTry:0 Recovered:1 Exhausted:0 Failed:0 Canceled:0 ByHand:0 Attempts:2 Retrying:2s} {Name:charge Took:1.024s FirstTry:2 Recovered:0 Exhausted:0 Failed:0 Canceled:0 ByHand:0 Attempts:2 Retrying:0s}]",
		"turn 36: [{Name:charge Took:1.024s FirstTry:32 Recovered:0 Exhausted:0 Failed:0 Canceled:0 ByHand:0 Attempts:32 Retrying:0s}]",
		"turn 39: [{Name:charge Took:6.144s FirstTry:0 Recovered:0 Exhausted:1 Failed:0 Canceled:0 ByHand:0 Attempts:3 Retrying:5s} {Name:charge Took:1.024s FirstTry:2 Recovered:0 Exhausted:0 Failed:0 Canceled:0 ByHand:0 Attempts:2 Retrying:0s}]",
		"turn 41: [{Name:charge Took:1.024s FirstTry:2 Recovered:0 Exhausted:0 Failed:0 Canceled:0 ByHand:0 Attempts:2 Retrying:0s}]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the turns count\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
