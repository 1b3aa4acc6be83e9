package suspicion

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/trial"
	"github.com/perdure/perdure/store"
)

// calm is how long a partition whose owners died one after the other must be served before its
// turns run without a mark again. No attempt stays in the probation lane for longer.
const calm = 30 * time.Second

// trials run the code of a location's runs only under a durable mark, because the previous
// owners died one after the other, perhaps of that code. See package trial.
type trials struct {
	place  *Place
	ctx    context.Context // ends with the trials or the location
	cancel context.CancelFunc
	kicked clock.Bell
	exists bool // the book has a row
	begun  time.Time
	again  *time.Timer // fires when a suspect may be tried; nil before the first

	// Guarded by the room's mutex:
	book    *trial.Book
	waiting []*Turn
	left    []*Turn  // their marks are to be removed
	cleared []string // runs that went on: they are suspects no longer
	adopted []string // rows of wards' books whose suspects this book has taken over

	departing int  // turns that have left the book and are not carried out yet
	over      bool // all turns may run without a mark
}

// Run is a run whose code is about to run.
type Run struct {
	ID string
	// Code returns the code, which may have to be looked up. Harmless code needs no mark.
	Code func() (code trial.Code, harmless bool)
	// Ends reports whether the run is about to end without its code.
	Ends func() bool
}

// Turn is one use of a run's code under a mark. Nil is one that needs none.
type Turn struct {
	Run
	trials *trials
	code   trial.Code
	went   bool          // the run went on; see WentOn
	done   bool          // Survived was called
	next   chan struct{} // closed when its mark is durable; replaced by a channel that is closed when the mark is gone
}

// Tries reports whether the code of a run may have to wait for a mark. If it returns false, as it
// usually does, Try would return nil.
func (p *Place) Tries(run string) bool {
	if calm := p.calm.Load(); calm != 0 && !p.Lineage.Since(int(calm-1)) {
		return false
	}
	p.room.mu.Lock()
	defer p.room.mu.Unlock()
	_, brought := p.brought[run]
	t, known := p.known(brought)
	return t != nil || !known
}

// Try blocks until the code of a run may run. It returns nil if no run is suspected, or if the
// code is not needed. The caller reports to the result that the code returned.
func (p *Place) Try(r Run) (*Turn, error) {
	s := p.room
	s.mu.Lock()
	evidence, brought := p.brought[r.ID]
	t, known := p.known(brought)
	s.mu.Unlock()
	var err error
	if !known {
		t, err = p.trialsOf(brought)
	}
	if t == nil || err != nil {
		return nil, err
	}
	code, harmless := r.Code()
	if harmless || r.Ends() {
		return nil, nil
	}
	w := &Turn{Run: r, trials: t, code: code, next: make(chan struct{})}
	s.mu.Lock()
	if t.over {
		s.mu.Unlock()
		return nil, nil
	}
	if brought {
		t.book.Inherit(r.ID, trial.Suspect(evidence))
	}
	t.waiting = append(t.waiting, w)
	s.mu.Unlock()
	t.kicked.Ring()
	return w, w.wait()
}

// wait blocks until the next change of the book that concerns the turn is durable.
func (w *Turn) wait() error {
	t, s := w.trials, w.trials.place.room
	select {
	case <-w.next:
		return nil
	case <-t.ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case t.over:
		return nil
	case s.config.Context.Err() != nil:
		return context.Cause(s.config.Context)
	}
	return store.ErrFenced
}

// Survived reports that the code ran and the process lives. It returns when that is durable,
// so that what follows, the commit of the turn or an attempt that kills the process, is not
// held against the run. It may be called twice.
func (w *Turn) Survived() {
	if w == nil || w.done {
		return
	}
	w.done = true
	t, s := w.trials, w.trials.place.room
	s.mu.Lock()
	w.next = make(chan struct{})
	t.left = append(t.left, w)
	s.mu.Unlock()
	t.kicked.Ring()
	_ = w.wait() // if the location is lost, its runs learn it elsewhere
}

// Finished reports that the turn has been carried out.
func (w *Turn) Finished() {
	if w == nil {
		return
	}
	w.Survived()
	s := w.trials.place.room
	s.mu.Lock()
	w.trials.departing--
	s.mu.Unlock()
	w.trials.kicked.Ring()
}

// WentOn says whether the run went on: its turn is on record, or it moved to another node.
func (w *Turn) WentOn(is bool) {
	switch {
	case w == nil:
	case !w.done:
		w.went = is
	case is:
		w.trials.wentOn(w)
	}
}

// wentOn records that a turn of a run is on record, so that its workflow, too, is less of a
// suspect.
func (t *trials) wentOn(w *Turn) {
	s := t.place.room
	s.mu.Lock()
	defer s.mu.Unlock()
	suspected := t.book.Suspected(w.ID)
	if t.book.WentOn(w.ID, w.code.Workflow) {
		s.acquitWorkflow(w.code.Workflow)
	}
	if suspected {
		t.cleared = append(t.cleared, w.ID)
		t.kicked.Ring()
	}
}

// run writes the book and admits the turns that it names, until the node has lived long enough
// or the location is lost.
func (t *trials) run() {
	defer func() {
		t.cancel()
		t.place.room.mu.Lock()
		defer t.place.room.mu.Unlock()
		delete(t.place.room.tried, t)
	}()
	// A run that is to be terminated is not tried. A message that cannot be read now comes
	// later.
	_ = t.place.Hear()
	timer := time.AfterFunc(calm, t.kicked.Ring)
	defer timer.Stop()
	for t.ctx.Err() == nil && !t.end() {
		changed, left, admitted := t.choose()
		if changed && !t.write() {
			return
		}
		for _, w := range slices.Concat(left, admitted) {
			close(w.next)
		}
		if changed {
			continue
		}
		select {
		case <-t.kicked:
		case <-t.ctx.Done():
		}
	}
}

// choose takes finished turns out of the book and chooses those that may run now.
func (t *trials) choose() (changed bool, left, admitted []*Turn) {
	s := t.place.room
	ends := t.whoEnds()
	s.mu.Lock()
	defer s.mu.Unlock()
	left, t.left = t.left, nil
	cleared := len(t.cleared) > 0
	t.cleared = nil
	t.departing += len(left)
	for _, w := range left {
		t.book.Survived(w.ID, w.went)
	}
	var ask []trial.Waiter
	rest := t.waiting[:0]
	for _, w := range t.waiting {
		if _, is := t.book.Poisoned(w.ID, w.code.Fingerprint); is || ends[w] || s.here(store.SwitchWorkflow, w.code.Workflow).Held != nil {
			admitted = append(admitted, w) // it runs without its code
			continue
		}
		ask = append(ask, trial.Waiter{Run: w.ID, Code: w.code})
		rest = append(rest, w)
	}
	lived := time.Since(t.begun)
	tried := t.book.Admit(ask, lived, t.alone())
	t.lookAgain(ask, lived)
	now := make(map[string]bool, len(tried))
	for _, w := range tried {
		now[w.Run] = true
	}
	t.waiting = nil
	for _, w := range rest {
		if now[w.ID] {
			admitted = append(admitted, w)
		} else {
			t.waiting = append(t.waiting, w)
		}
	}
	return cleared || len(left)+len(tried)+len(t.adopted) > 0, left, admitted
}

// whoEnds returns the waiting turns of runs that are about to end. It asks them without the
// room's mutex, which comes after that of who knows it.
func (t *trials) whoEnds() map[*Turn]bool {
	t.place.room.mu.Lock()
	waiting := slices.Clone(t.waiting)
	t.place.room.mu.Unlock()
	ends := map[*Turn]bool{}
	for _, w := range waiting {
		if w.Ends() {
			ends[w] = true
		}
	}
	return ends
}

// lookAgain sets the timer for the next suspect that waits until the process has lived long
// enough.
func (t *trials) lookAgain(ask []trial.Waiter, lived time.Duration) {
	var next time.Duration
	for _, w := range ask {
		if wait := t.book.Again(w) - lived; wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	if t.again != nil {
		t.again.Stop()
	}
	if next > 0 {
		t.again = time.AfterFunc(next, t.kicked.Ring)
	}
}

// laneAgain is how often suspects that wait for the probation lane are checked.
const laneAgain = 50 * time.Millisecond

// alone reports whether nothing else runs that could crash the process: no attempt in the
// probation lane, no turn that may start one, and no suspect of another location.
func (t *trials) alone() bool {
	s := t.place.room
	alone := t.departing == 0 && !s.config.OnProbation()
	for other := range s.tried {
		alone = alone && (other == t || other.over || !other.book.TriesSuspects())
	}
	if !alone {
		time.AfterFunc(laneAgain, t.kicked.Ring)
	}
	return alone
}

// write makes the book durable.
func (t *trials) write() bool {
	p, s := t.place, t.place.room
	at := p.book()
	s.mu.Lock()
	adopted := t.adopted
	t.adopted = nil
	state := store.RunState{Status: store.Standing, Wake: store.Never, Detail: t.book.Write()}
	s.mu.Unlock()
	turn := store.Turn{Partition: p.Home, Ward: p.Ward, Epoch: p.Epoch, Run: at.Run, State: &state}
	if !t.exists {
		row, err := at.Row(s.config.Clock.Now())
		if err != nil {
			s.config.Log.TrialFailed(p.Home, err)
			return false
		}
		row.RunState, turn.State, turn.Create = state, nil, &row
	}
	t.exists = t.commit(turn)
	for _, row := range adopted {
		if t.exists {
			t.commit(store.Turn{Partition: p.Home, Epoch: p.Epoch, Run: row, Remove: true})
		}
	}
	return t.exists
}

// commit writes a change of the book.
func (t *trials) commit(turn store.Turn) bool {
	s := t.place.room
	err := s.config.Commit(turn)
	switch {
	case errors.Is(err, store.ErrFenced):
		t.place.Lose()
	case err != nil && s.config.Context.Err() == nil:
		s.config.Log.TrialFailed(turn.Partition, err)
		s.mu.Lock()
		t.over = true
		s.mu.Unlock()
	}
	return err == nil
}

// end ends the trials and removes the book if the node has lived long enough and no suspect
// waits.
func (t *trials) end() bool {
	p, s := t.place, t.place.room
	s.mu.Lock()
	over := time.Since(t.begun) >= calm && !t.book.TriesSuspects() &&
		!slices.ContainsFunc(t.waiting, func(w *Turn) bool { return t.book.Suspected(w.ID) })
	t.over = t.over || over
	s.mu.Unlock()
	if over && t.exists {
		t.commit(store.Turn{Partition: p.Home, Ward: p.Ward, Epoch: p.Epoch, Run: p.book().Run, Remove: true})
	}
	return over
}
