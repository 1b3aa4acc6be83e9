package core

import "time"

// Totals are exact sums over all closed attempts of a call that the ledger
// knows, kept or not. They are part of the call's row and of each ledger record
// (as they were with that attempt), so the latest record has those of the call:
// they need no row and no write of their own.
type Totals struct {
	Completed int `json:"completed,omitempty"`
	Failed    int `json:"failed,omitempty"`
	TimedOut  int `json:"timed_out,omitempty"`
	Lost      int `json:"lost,omitempty"`
	Drained   int `json:"drained,omitempty"`
	Canceled  int `json:"canceled,omitempty"`

	Run     time.Duration `json:"run,omitempty"`     // of the bodies, ns
	Backoff time.Duration `json:"backoff,omitempty"` // the chosen waits, ns

	First      int64 `json:"first,omitempty"`       // when the first attempt was ready to run
	FirstEnded int64 `json:"first_ended,omitempty"` // when it ended
	Last       int64 `json:"last,omitempty"`        // when the latest one ended
}

// Attempts is how many attempts were closed.
func (t *Totals) Attempts() int {
	return t.Completed + t.Failed + t.TimedOut + t.Lost + t.Drained + t.Canceled
}

// Retrying is the time from the end of the first attempt to that of the latest:
// what it took longer than it would have if the first had been the last.
func (t *Totals) Retrying() time.Duration { return time.Duration(t.Last - t.FirstEnded) }

// add counts a closed attempt. One that never ran has started 0.
func (t *Totals) add(outcome Outcome, queued, started, ended int64, delay time.Duration) {
	n := t.counter(outcome)
	if n == nil {
		return // it is none
	}
	*n++
	if started > 0 {
		t.Run += time.Duration(ended - started)
	}
	t.Backoff += delay
	if t.Attempts() == 1 {
		t.First, t.FirstEnded = queued, ended
	}
	t.Last = ended
}

func (t *Totals) counter(outcome Outcome) *int {
	switch outcome {
	case Completed:
		return &t.Completed
	case Failed:
		return &t.Failed
	case TimedOut:
		return &t.TimedOut
	case Lost:
		return &t.Lost
	case Drained:
		return &t.Drained
	case Canceled:
		return &t.Canceled
	}
	return nil
}
