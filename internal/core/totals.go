package core

import "time"

// Totals are exact sums over all closed attempts that the ledger recorded, pruned or not.
// They are part of the call's row and of each ledger record, as of that attempt. The latest
// record therefore has the call's totals, which need no row and no write of their own.
type Totals struct {
	Completed int `json:"completed,omitempty"`
	Failed    int `json:"failed,omitempty"`
	TimedOut  int `json:"timed_out,omitempty"`
	Lost      int `json:"lost,omitempty"`
	Drained   int `json:"drained,omitempty"`
	Canceled  int `json:"canceled,omitempty"`
	Questions int `json:"questions,omitempty"` // which are no attempts

	Run     time.Duration `json:"run,omitempty"`     // run time of the bodies, ns
	Backoff time.Duration `json:"backoff,omitempty"` // chosen waits, ns

	First      int64 `json:"first,omitempty"`       // when the first attempt was ready to run
	FirstEnded int64 `json:"first_ended,omitempty"` // when the first attempt ended
	Last       int64 `json:"last,omitempty"`        // when the latest attempt ended
}

// Attempts returns the number of closed attempts.
func (t *Totals) Attempts() int {
	return t.Completed + t.Failed + t.TimedOut + t.Lost + t.Drained + t.Canceled
}

// Retrying returns the time from the end of the first attempt to the end of the latest:
// what retries added to the duration.
func (t *Totals) Retrying() time.Duration { return time.Duration(t.Last - t.FirstEnded) }

// add counts a closed attempt. An attempt that never ran has started 0.
func (t *Totals) add(outcome Outcome, queued, started, ended int64, delay time.Duration) {
	n := t.counter(outcome)
	if n == nil {
		return // not an attempt
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
