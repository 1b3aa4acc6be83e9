package suspicion

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/store"
)

// calm is how long a partition whose owners died one after the other must be served before its
// turns run without a mark again. No attempt stays in the probation lane for longer.
const calm = 30 * time.Second

// trials run the code of a location's runs only under a durable mark, because the previous
// owners died one after the other, perhaps of that code. See package suspects.
type trials struct {
	place  *Place
	ctx    context.Context // ends with the trials or the location
	cancel context.CancelFunc
	kicked clock.Bell
	exists bool // the book has a row
	begun  time.Time
	again  *time.Timer // fires when a suspect may be tried; nil before the first

	// Guarded by the room's mutex:
	book    *suspects.Book
	waiting []*Turn
	left    []*Turn  // their marks are to be removed
	cleared bool     // the book does not say yet that some runs are suspects no longer
	adopted []string // rows of wards' books whose suspects this book has taken over

	departing int  // turns that have left the book and are not carried out yet
	over      bool // all turns may run without a mark
}

// Run is a run whose code is about to run.
type Run struct {
	ID string
	// Code returns the code, which may have to be looked up. Harmless code needs no mark.
	Code func() (code suspects.Code, harmless bool)
	// Ends reports whether the run is about to end without its code.
	Ends func() bool
}

// Turn is one use of a run's code under a mark. Nil is one that needs none.
type Turn struct {
	Run
	trials *trials
	code   suspects.Code
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
		t.book.Inherit(r.ID, evidence)
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

// WentOn says whether the run went on: its turn is on record, so that its workflow, too, is less
// of a suspect, or it moved to another node.
func (w *Turn) WentOn(is bool) {
	switch {
	case w == nil, w.done && !is:
		return
	case !w.done:
		w.went = is
		return
	}
	t, s := w.trials, w.trials.place.room
	s.mu.Lock()
	defer s.mu.Unlock()
	t.clear(w.ID, func() {
		if t.book.WentOn(w.ID, w.code.Workflow) && !s.begun.IsZero() {
			workflow := s.hereIs(store.SwitchWorkflow, w.code.Workflow)
			s.config.Go(func() { s.write(workflow, survived+ident.NewToken(), "its runs went on", false) })
		}
	})
}

// clear takes a run out of the suspects by a change of the book, which is written if it was one.
// The room's mutex is held.
func (t *trials) clear(run string, change func()) {
	_, was := t.book.Suspect(run)
	if change(); was {
		t.cleared = true
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
	cleared := t.cleared
	t.cleared = false
	t.departing += len(left)
	for _, w := range left {
		t.book.Survived(w.ID, w.went)
	}
	var ask []suspects.Waiter
	for _, w := range t.waiting {
		known, _ := t.book.Suspect(w.ID)
		if known.Poisoned(w.code.Fingerprint) || s.here(store.SwitchWorkflow, w.code.Workflow).Held != nil {
			ends[w] = true // it runs without its code
		}
		if !ends[w] {
			ask = append(ask, suspects.Waiter{Run: w.ID, Code: w.code})
		}
	}
	lived := time.Since(t.begun)
	tried := t.book.Admit(ask, lived, t.alone())
	t.lookAgain(ask, lived)
	t.waiting = slices.DeleteFunc(t.waiting, func(w *Turn) bool {
		now := ends[w] || slices.ContainsFunc(tried, func(x suspects.Waiter) bool { return x.Run == w.ID })
		if now {
			admitted = append(admitted, w)
		}
		return now
	})
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
func (t *trials) lookAgain(ask []suspects.Waiter, lived time.Duration) {
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
	s.mu.Lock()
	adopted := t.adopted
	t.adopted = nil
	state := store.RunState{Status: store.Standing, Wake: store.Never, Detail: t.book.Write()}
	s.mu.Unlock()
	turn := store.Turn{State: &state}
	if !t.exists {
		row, err := p.row().Row(s.config.Clock.Now())
		if err != nil {
			s.config.Log.TrialFailed(p.Home, err)
			return false
		}
		row.RunState, turn.State, turn.Create = state, nil, &row
	}
	t.exists = t.commit(p.row().Run, turn)
	for _, row := range adopted {
		if t.exists {
			t.commit(row, store.Turn{Remove: true})
		}
	}
	return t.exists
}

// commit writes a change of a row: of the book, or of one that it has adopted.
func (t *trials) commit(row string, turn store.Turn) bool {
	p, s := t.place, t.place.room
	turn.Partition, turn.Ward, turn.Epoch, turn.Run = p.Home, p.Ward, p.Epoch, row
	err := s.config.Commit(turn)
	switch {
	case errors.Is(err, store.ErrFenced):
		p.Lose()
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
	s := t.place.room
	s.mu.Lock()
	over := time.Since(t.begun) >= calm && !t.book.TriesSuspects() && !slices.ContainsFunc(t.waiting, func(w *Turn) bool {
		_, is := t.book.Suspect(w.ID)
		return is
	})
	t.over = t.over || over
	s.mu.Unlock()
	if over && t.exists {
		t.commit(t.place.row().Run, store.Turn{Remove: true})
	}
	return over
}
