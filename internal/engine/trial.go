package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/trial"
	"github.com/perdure/perdure/store"
)

// calm is how long a partition whose owners died one after the other must be served until
// the turns of its runs are not written down before they are made any more. No attempt is
// in the probation lane for longer.
const calm = 30 * time.Second

// trials let the code of a partition's runs run only under a durable mark, because the
// owners before died one after the other: perhaps of that code. See package trial.
type trials struct {
	engine    *Engine
	partition *partition
	ctx       context.Context // ends with the trials, or with the partition
	cancel    context.CancelFunc
	kicked    chan struct{}

	// Guarded by the engine's mu:
	book    *trial.Book
	waiting []*turnOnTrial
	left    []*turnOnTrial // their marks are to be removed
	exists  bool           // the book has a row
	adopted []string       // rows of books of wards, whose suspects are in this one

	departing int // turns that are not in the book any more and not carried out yet
	begun     time.Time
	again     *time.Timer // of a suspect that is tried later, nil before the first
	over      bool        // all may go on without
}

// turnOnTrial is one use of the code of a run.
type turnOnTrial struct {
	trials *trials
	run    *activeRun
	code   string        // fingerprint
	went   bool          // the run went on
	done   bool          // survived was called
	next   chan struct{} // closed when its mark is durable; then another one, when that is gone
}

// onTrial waits until the code of a run may run, and returns how to say that it did; nil
// if nothing suspects it. A turn that needs no code does not wait.
func (e *Engine) onTrial(r *activeRun, todo []mail) (*turnOnTrial, error) {
	e.mu.Lock()
	s := r.suspicion()
	t, known := r.partition.knownTrials(s != nil)
	e.mu.Unlock()
	var err error
	if !known {
		t, err = e.trialsOf(r.partition, s != nil)
	}
	if t == nil || err != nil {
		return nil, err
	}
	def := e.defs.workflows[r.typeOf()]
	w := &turnOnTrial{trials: t, run: r, next: make(chan struct{})}
	if def != nil {
		w.code = e.fingerprint(def, "")
	}
	e.mu.Lock()
	if t.over || r.run == nil && (ends(todo) || ends(r.mail)) {
		e.mu.Unlock()
		return nil, nil
	}
	if s != nil {
		t.book.Inherit(r.id, trial.Suspect(*s))
	}
	t.waiting = append(t.waiting, w)
	e.mu.Unlock()
	kick(t.kicked)
	return w, w.wait()
}

// typeOf is the name of a run's workflow if that is known before it is loaded.
func (r *activeRun) typeOf() string {
	switch {
	case r.run != nil:
		return r.run.Start().Type
	case r.pending != nil:
		return r.pending.start.Type
	}
	row, err := r.engine.db.Find(r.engine.ctx, r.partition.home, "", r.id)
	if err != nil {
		return ""
	}
	return row.Type
}

// wait blocks until the trials have come to the turn.
func (w *turnOnTrial) wait() error {
	select {
	case <-w.next:
		return nil
	case <-w.trials.ctx.Done():
	}
	e := w.trials.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case w.trials.over:
		return nil
	case e.ctx.Err() != nil:
		return ErrStopped
	}
	return store.ErrFenced
}

// survived says that the code ran and the process lives. It returns when that is durable,
// so that what follows from the turn, such as an attempt that ends the process, is not
// held against the run. It may be called on nil, and twice.
func (w *turnOnTrial) survived() {
	if w == nil || w.done {
		return
	}
	w.done = true
	t := w.trials
	t.engine.mu.Lock()
	w.next = make(chan struct{})
	t.left = append(t.left, w)
	t.engine.mu.Unlock()
	kick(t.kicked)
	_ = w.wait() // of what happens to the partition its runs hear otherwise
}

// finished says that what follows from the turn has begun. It may be called on nil.
func (w *turnOnTrial) finished() {
	if w == nil {
		return
	}
	w.survived()
	t := w.trials
	t.engine.mu.Lock()
	t.departing--
	t.engine.mu.Unlock()
	kick(t.kicked)
}

// wentOn says whether there is a turn more on record of the run.
func (w *turnOnTrial) wentOn(is bool) {
	if w != nil {
		w.went = is
	}
}

// ends reports whether one of the messages ends its run without asking its code.
func ends(all []mail) bool {
	return slices.ContainsFunc(all, func(m mail) bool {
		in, is := m.input.(core.Control)
		return is && in.Operation == core.TerminateTheRun
	})
}

// poisoned is the hold of a run whose code has ended its process too often; nil for any
// other.
func (e *Engine) poisoned(r *activeRun, code string) *hold {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := r.partition.trials
	if t == nil || t.over {
		return nil
	}
	n, is := t.book.Poisoned(r.id, code)
	if !is {
		return nil
	}
	return &hold{core.StatusParked, core.Detail{
		Reason: fmt.Sprintf("the workflow's code ended its process %d times in a row, each time while the code of no other run of its partition ran: it recurses without end, uses up the memory or exits; "+
			"it is tried again when the code is another one", n),
		Fingerprint: code,
	}}
}

// excused are the nodes that died while the code of a run was tried: not of the run's
// attempts. The engine's mu is held.
func (r *activeRun) excused() []string {
	if t := r.partition.trials; t != nil && !t.over {
		return t.book.Nodes(r.id)
	}
	return nil
}

// run writes the book and lets those go on whom it names, until the node has lived for
// some time, or the partition is another one's.
func (t *trials) run() {
	defer t.cancel()
	e := t.engine
	// A run that is to be terminated is not tried. What cannot be read now comes later.
	_ = e.readInboxOnce(t.partition)
	timer := time.AfterFunc(calm, func() { kick(t.kicked) })
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

// choose takes those out of the book whose turns are over, and finds whose turns begin.
func (t *trials) choose() (changed bool, left, admitted []*turnOnTrial) {
	e := t.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	left, t.left = t.left, nil
	t.departing += len(left)
	for _, w := range left {
		t.book.Survived(w.run.id, w.went)
	}
	var ask []trial.Waiter
	rest := t.waiting[:0]
	for _, w := range t.waiting {
		if _, is := t.book.Poisoned(w.run.id, w.code); is || w.run.run == nil && ends(w.run.mail) {
			admitted = append(admitted, w) // without its code
			continue
		}
		ask = append(ask, trial.Waiter{Run: w.run.id, Code: w.code})
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
		if now[w.run.id] {
			admitted = append(admitted, w)
		} else {
			t.waiting = append(t.waiting, w)
		}
	}
	return len(left)+len(tried)+len(t.adopted) > 0, left, admitted
}

// lookAgain sets the timer for the next of those that are not tried yet because the
// process has not lived for long enough. The engine's mu is held.
func (t *trials) lookAgain(ask []trial.Waiter, lived time.Duration) {
	var next time.Duration
	for _, w := range ask {
		if wait := t.book.Again(w.Run) - lived; wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	if t.again != nil {
		t.again.Stop()
	}
	if next > 0 {
		t.again = time.AfterFunc(next, func() { kick(t.kicked) })
	}
}

// alone reports whether nothing runs that suspects must be told from: no attempt in the
// probation lane, no turn of which one may begin, and no suspect of another partition. The
// engine's mu is held.
func (t *trials) alone() bool {
	if t.departing == 0 && !t.engine.attempts.OnProbation() && !t.elsewhere() {
		return true
	}
	time.AfterFunc(laneAgain, func() { kick(t.kicked) })
	return false
}

// elsewhere reports whether suspects of another partition are tried. The engine's mu is held.
func (t *trials) elsewhere() bool {
	for _, p := range t.engine.partitions {
		if other := p.trials; other != nil && other != t && !other.over && other.book.TriesSuspects() {
			return true
		}
	}
	return false
}

// laneAgain is when suspects that wait for the probation lane are looked at again.
const laneAgain = 50 * time.Millisecond

// write makes the book durable.
func (t *trials) write() bool {
	e, p := t.engine, t.partition
	at := e.bookOf(p)
	e.mu.Lock()
	adopted := t.adopted
	t.adopted = nil
	state := store.RunState{Status: store.Standing, Wake: store.Never, Detail: t.book.Write()}
	e.mu.Unlock()
	turn := store.Turn{Partition: p.home, Ward: p.ward, Epoch: p.epoch, Run: at.Run, State: &state}
	if !t.exists {
		row, err := at.Row(e.clock.Now())
		if err != nil {
			e.log.TrialFailed(p.home, err)
			return false
		}
		row.RunState, turn.State, turn.Create = state, nil, &row
	}
	t.exists = t.commit(turn)
	for _, row := range adopted {
		if t.exists {
			t.commit(store.Turn{Partition: p.home, Epoch: p.epoch, Run: row, Remove: true})
		}
	}
	return t.exists
}

// commit makes a change of the book durable.
func (t *trials) commit(turn store.Turn) bool {
	e := t.engine
	err := e.committer.Commit(turn)
	switch {
	case errors.Is(err, store.ErrFenced):
		e.lose(t.partition)
	case err != nil && e.ctx.Err() == nil:
		e.log.TrialFailed(turn.Partition, err)
		e.mu.Lock()
		t.over = true
		e.mu.Unlock()
	}
	return err == nil
}

// end ends the trials if the node has lived for long enough and no suspect waits, and
// removes the book.
func (t *trials) end() bool {
	e, p := t.engine, t.partition
	e.mu.Lock()
	over := time.Since(t.begun) >= calm && !t.book.TriesSuspects() &&
		!slices.ContainsFunc(t.waiting, func(w *turnOnTrial) bool { return t.book.Suspected(w.run.id) })
	t.over = t.over || over
	e.mu.Unlock()
	if over && t.exists {
		t.commit(store.Turn{Partition: p.home, Ward: p.ward, Epoch: p.epoch, Run: e.bookOf(p).Run, Remove: true})
	}
	return over
}
