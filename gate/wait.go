package gate

import (
	"context"
	"time"

	"github.com/perdure/perdure/internal/gates"
)

// patience is how long a slot is kept at first while another gate makes its call wait.
const patience = 10 * time.Millisecond

// wait is one attempt that waits for its gates.
type wait struct {
	call    *call
	attempt int
	timeout time.Duration // for all gates together, 0 for none

	timer    *time.Timer // of the timeout, nil before the first wait
	began    time.Time
	came     time.Time // to the first gate, zero while there
	since    time.Time // since when it holds some gates, zero if none
	returned int       // how often it gave back what it held in order
}

// next is the first gate that the call lacks, -1 if it holds all. It has got the one at
// taken, -1 for none.
func (w *wait) next(taken int) int {
	places := w.call.places
	lacks := first(places, false)
	if lacks >= 0 && len(places) > 1 {
		switch {
		case taken < 0:
			w.began = time.Now()
		case w.since.IsZero():
			w.came, w.since = w.began, time.Now()
		}
	}
	return lacks
}

// await waits for a gate. The call keeps nothing that it has from before a backoff at the
// gates behind: who holds the slot that it waits for may itself wait there. What it was
// granted for this attempt it gives back when its patience ends.
func (w *wait) await(ctx context.Context, i int) (verdict, error) {
	places := w.call.places
	for j := i + 1; j < len(places); j++ {
		places[j].yield()
	}
	var tooLate, impatient <-chan time.Time
	if w.timer == nil && w.timeout > 0 {
		w.timer = time.NewTimer(w.timeout)
	}
	if w.timer != nil {
		tooLate = w.timer.C
	}
	inOrder := first(places[i:], true) < 0
	if !w.since.IsZero() {
		t := time.NewTimer(gates.Patience(patience, inOrder, w.returned) - time.Since(w.since))
		defer t.Stop()
		impatient = t.C
	}
	answer, err := places[i].await(ctx, tooLate, impatient)
	if err == errImpatient {
		w.giveBack(inOrder)
	}
	return answer, err
}

// first is the first place that is held, or the first that is not; -1 if there is none.
// It looks at places where they are: the rest of one belongs to its gate's lock, and must
// not be copied.
func first(places []place, held bool) int {
	for i := range places {
		if places[i].held == held {
			return i
		}
	}
	return -1
}

func (w *wait) giveBack(inOrder bool) {
	if inOrder {
		w.returned++
	}
	w.since = time.Time{}
	for i := len(w.call.places) - 1; i >= 0; i-- {
		if p := &w.call.places[i]; p.held {
			p.giveBack(w.attempt)
		}
	}
}

func (w *wait) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
