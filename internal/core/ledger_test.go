package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/workflow"
)

// E22: the ledger keeps the first 100 and the last 1,000 attempts of a call. E21:
// the summary keeps the first and the last errors and counts them all.
func TestE22_LedgerKeepsTheFirstAndTheLastAttempts(t *testing.T) {
	const failures = 2500
	d := newDriver(t, programOf(t, "charge-forever"), 7)
	kept := map[int]bool{}
	var turn *core.Turn
	step := func(inputs ...core.Input) {
		t.Helper()
		var err error
		if turn, err = d.run.Step(d.now, inputs, anySlot); err != nil {
			t.Fatal(err)
		}
		for _, rec := range turn.Attempts {
			if rec.Prune != 0 {
				if !kept[rec.Prune] {
					t.Fatalf("attempt %d makes room twice", rec.Prune)
				}
				delete(kept, rec.Prune)
			}
			kept[rec.Attempt] = true
		}
	}
	step()
	for n := 1; n <= failures; n++ {
		failure := history.FromError(&scriptError{"NetworkError", fmt.Sprintf("failure %d", n)})
		step(core.AttemptEnded{Call: 1, Attempt: n, Outcome: core.Failed, Failure: failure, Ended: d.now})
		d.now += int64(time.Second)
		step()
	}
	result, _ := history.Encode("paid")
	step(core.AttemptEnded{Call: 1, Attempt: failures + 1, Outcome: core.Completed, Result: result, Ended: d.now})

	if len(kept) != core.FirstAttempts+core.LastAttempts {
		t.Errorf("the ledger keeps %d records", len(kept))
	}
	for n := 1; n <= failures+1; n++ {
		if want := n <= core.FirstAttempts || n > failures+1-core.LastAttempts; kept[n] != want {
			t.Fatalf("attempt %d is kept: %t", n, kept[n])
		}
	}
	summary := turn.Events[1].Retry
	if summary == nil || summary.ErrorsTotal != failures || summary.TotalAttempts != failures+1 || len(summary.Errors) != 10 {
		t.Fatalf("summary %+v", summary)
	}
	for i, want := range []int{1, 2, 3, 4, 5, 2496, 2497, 2498, 2499, 2500} {
		if e := summary.Errors[i]; e.Attempt != want || e.Message != fmt.Sprintf("failure %d", want) {
			t.Errorf("error %d is of attempt %d: %s", i, e.Attempt, e.Message)
		}
	}
	if summary.TotalDurationMS != failures*1000 || summary.LastError != "failure 2500" {
		t.Errorf("summary %+v", summary)
	}
}

// E48: what a summary quotes is bounded, whatever an error says.
func TestE21_SummaryIsBounded(t *testing.T) {
	d := newDriver(t, programOf(t, "charge"), 7)
	long := make([]byte, 1<<20)
	for i := range long {
		long[i] = 'x'
	}
	failure := history.FromError(&scriptError{"NetworkError", string(long)})
	inputs := []core.Input{core.AttemptEnded{Call: 1, Attempt: 1, Outcome: core.Failed, Failure: failure, Ended: d.now}}
	if _, err := d.step(nil, anySlot); err != nil {
		t.Fatal(err)
	}
	if _, err := d.step(inputs, anySlot); err != nil {
		t.Fatal(err)
	}
	if n := len(d.rows[1].Data); n > 20<<10 {
		t.Errorf("the row of a call whose attempt failed with a message of 1 MiB has %d bytes", n)
	}
	if n := len(d.ledger[0].Data); n > 20<<10 {
		t.Errorf("its ledger record has %d bytes", n)
	}
}

// Numbers of attempts are unique for ever, and the IDs made of them.
func TestAttemptIDs(t *testing.T) {
	if id := core.CallID("r1", 12); id != "r1/12" {
		t.Error(id)
	}
	if id := core.AttemptID("r1", 12, 3); id != "r1/12.3" {
		t.Error(id)
	}
}

// The first turn of a run can wait; what comes before it is kept for it.
func TestE49_TheFirstTurnWaits(t *testing.T) {
	d := newDriver(t, codeOf(func(wf *workflow.Context, _ int) (string, error) {
		s, err := workflow.Receive(wf, approval)
		return s + workflow.Now(wf).Format(" 15:04:05"), err
	}), 0)
	d.start.FirstTurn = beginning + int64(time.Minute)
	if err := d.reload(d.code); err != nil {
		t.Fatal(err)
	}
	step := func(inputs ...core.Input) *core.Turn {
		t.Helper()
		turn, err := d.step(inputs, anySlot)
		if err != nil {
			t.Fatal(err)
		}
		return turn
	}
	if turn := step(); turn.State == nil || turn.State.Wake != d.start.FirstTurn {
		t.Errorf("the run does not wake for its first turn: %s", renderTurn(turn))
	}
	value, _ := history.Encode("early")
	d.now += int64(time.Second)
	step(core.Control{Operation: core.SignalTheRun, Signal: "approval", Value: value})
	if err := d.crash(d.code); err != nil {
		t.Fatal(err)
	}
	d.now = d.start.FirstTurn
	if turn := step(core.TakenOver{}); !turn.Ended || string(d.outcome().Result.Data) != `"early 00:01:00"` {
		t.Errorf("%s", renderTurn(turn))
	}
}
