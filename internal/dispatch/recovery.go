package dispatch

import (
	"sync"
	"time"
)

// Recovery bounds what may start while runs are resumed that had work in flight when their
// process ended. It is safe for concurrent use.
//
// The probation lane stays closed until each of them has come to rest. Only then is it known
// which calls belong there and which of them was charged least often and goes first. Otherwise
// a process that is killed repeatedly, for whatever reason, would charge the run that it
// happens to load first.
//
// A starting node also holds its regular slots back for a moment, so that waiting calls get
// them by priority and not in the order in which their runs are loaded.
type Recovery struct {
	slots *Slots

	mu       sync.Mutex
	open     int         // parts that are not finished
	runs     int         // that had work in flight
	lost     int         // attempts of them
	patience *time.Timer // ends the holding back of slots; nil if none are held back
}

// NewRecovery returns a Recovery in which nothing is resumed.
func NewRecovery(s *Slots) *Recovery { return &Recovery{slots: s} }

// maxKeptBack limits how long slots are held back: a run that is slow to load must not hold up
// the others.
const maxKeptBack = time.Second

// KeepBack holds regular slots back until it is known which calls wait for one, if something is
// being resumed. Granted is called if that takes too long.
func (r *Recovery) KeepBack(granted func([]Grant)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == 0 {
		return
	}
	r.slots.KeepBack()
	r.patience = time.AfterFunc(maxKeptBack, func() {
		r.mu.Lock()
		grants := r.letGo()
		r.mu.Unlock()
		granted(grants)
	})
}

func (r *Recovery) letGo() []Grant {
	if r.patience == nil {
		return nil
	}
	r.patience.Stop()
	r.patience = nil
	return r.slots.LetGo()
}

// Begin says that one more part begins; the first closes the probation lane.
func (r *Recovery) Begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin()
}

func (r *Recovery) begin() {
	if r.open == 0 {
		r.slots.CloseLane()
	}
	r.open++
}

// BeginRun is Begin for a run.
func (r *Recovery) BeginRun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin()
	r.runs++
}

// Lost says that attempts were lost.
func (r *Recovery) Lost(attempts int) {
	if attempts == 0 {
		return // the usual case
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost += attempts
}

// Done says that a part is done. The last one opens the probation lane, and returns how many runs
// were resumed and how many attempts were lost.
func (r *Recovery) Done() (grants []Grant, runs, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open--; r.open > 0 {
		return nil, 0, 0
	}
	grants = append(r.slots.OpenLane(), r.letGo()...)
	runs, lost = r.runs, r.lost
	r.runs, r.lost = 0, 0
	return grants, runs, lost
}

// Abort forgets what began.
func (r *Recovery) Abort() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slots.OpenLane()
	r.open, r.runs, r.lost = 0, 0, 0
}

// Open returns how many parts are not finished.
func (r *Recovery) Open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open
}
