package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/trial"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// calm is how long a partition whose owners died one after the other must be served before its
// turns run without a mark again. No attempt stays in the probation lane for longer.
const calm = 30 * time.Second

// trials run the code of a partition's runs only under a durable mark, because the previous
// owners died one after the other, perhaps of that code. See package trial.
type trials struct {
	engine    *Engine
	partition *partition
	ctx       context.Context // ends with the trials or the partition
	cancel    context.CancelFunc
	kicked    clock.Bell

	// Guarded by the engine's mu:
	book    *trial.Book
	waiting []*turnOnTrial
	left    []*turnOnTrial // their marks are to be removed
	cleared []string       // runs that went on: they are suspects no longer
	exists  bool           // the book has a row
	adopted []string       // rows of wards' books whose suspects this book has taken over

	departing int // turns that have left the book and are not carried out yet
	begun     time.Time
	again     *time.Timer // fires when a suspect may be tried; nil before the first
	over      bool        // all turns may run without a mark
}

// turnOnTrial is one use of a run's code under a mark.
type turnOnTrial struct {
	trials *trials
	run    *activeRun
	code   trial.Code
	went   bool          // the run went on; see wentOn
	done   bool          // survived was called
	next   chan struct{} // closed when its mark is durable; replaced by a channel that is closed when the mark is gone
}

// onTrial blocks until the code of a run may run. It returns nil if no run is suspected, or if
// the turn needs no code. The caller reports to the result that the code returned.
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
	workflow := r.typeOf()
	def := e.defs.workflows[workflow]
	if def != nil && def.Harmless {
		return nil, nil
	}
	w := &turnOnTrial{trials: t, run: r, code: trial.Code{Workflow: workflow}, next: make(chan struct{})}
	if def != nil {
		w.code.Fingerprint = e.fingerprint(def, "")
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
	t.kicked.Ring()
	return w, w.wait()
}

// workflowID returns the workflow ID of a run, or the run ID if that is not known.
func (r *activeRun) workflowID() string {
	switch {
	case r.run != nil:
		return r.run.Start().WorkflowID
	case r.pending != nil:
		return r.pending.start.WorkflowID
	}
	if row, err := r.engine.db.Find(r.engine.ctx, r.partition.home, "", r.id); err == nil {
		return row.WorkflowID
	}
	return r.id
}

// typeOf returns the name of a run's workflow, even before the run is loaded; "" if unknown.
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

// wait blocks until the next change of the book that concerns the turn is durable.
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

// survived reports that the code ran and the process lives. It returns when that is durable,
// so that what follows, the commit of the turn or an attempt that kills the process, is not
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
	t.kicked.Ring()
	_ = w.wait() // if the partition is lost, its runs learn it elsewhere
}

// finished reports that the turn has been carried out. It may be called on nil.
func (w *turnOnTrial) finished() {
	if w == nil {
		return
	}
	w.survived()
	t := w.trials
	t.engine.mu.Lock()
	t.departing--
	t.engine.mu.Unlock()
	t.kicked.Ring()
}

// wentOn says whether the run went on: its turn is on record, or it moved to another node.
func (w *turnOnTrial) wentOn(is bool) {
	switch {
	case w == nil:
	case !w.done:
		w.went = is
	case is:
		w.trials.wentOn(w)
	}
}

// trialsIn returns the trials of a place that are not over, or nil.
func (e *Engine) trialsIn(p *partition) *trials {
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := p.trials; t != nil && !t.over {
		return t
	}
	return nil
}

// clear takes a run out of the suspects.
func (t *trials) clear(run string) {
	t.engine.mu.Lock()
	defer t.engine.mu.Unlock()
	if t.book.Suspected(run) {
		t.book.Clear(run)
		t.cleared = append(t.cleared, run)
		t.kicked.Ring()
	}
}

// wentOn records that a turn of a run is on record, so that its workflow, too, is less of a
// suspect.
func (t *trials) wentOn(w *turnOnTrial) {
	t.engine.mu.Lock()
	defer t.engine.mu.Unlock()
	suspected := t.book.Suspected(w.run.id)
	if t.book.WentOn(w.run.id, w.code.Workflow) {
		t.engine.acquitWorkflow(w.code.Workflow)
	}
	if suspected {
		t.cleared = append(t.cleared, w.run.id)
		t.kicked.Ring()
	}
}

// ends reports whether one of the messages ends its run without running code.
func ends(all []mail) bool {
	return slices.ContainsFunc(all, func(m mail) bool {
		in, is := m.input.(core.Control)
		return is && in.Operation == core.TerminateTheRun
	})
}

// poisoned returns the hold of a run whose code has crashed its process too often, nil for any
// other run.
func (e *Engine) poisoned(r *activeRun, workflow, code string) *hold {
	e.mu.Lock()
	t, shared := r.partition.trials, e.crashesHere(store.SwitchWorkflow, workflow)
	n, is := 0, false
	if t != nil && !t.over {
		n, is = t.book.Poisoned(r.id, code)
	}
	e.mu.Unlock()
	if shared.held != nil {
		return shared.hold(r.workflowID(), code)
	}
	if !is {
		return nil
	}
	return &hold{core.StatusParked, core.Detail{
		Reason: fmt.Sprintf("the workflow's code ended its process %d times in a row, each time while the code of no other run of its partition ran: it recurses without end, uses up the memory or exits; "+
			"it is tried again when the code changes, or after perdure resume-run "+r.workflowID(), n),
		Fingerprint: code, Deaths: n, Broken: view.BrokenCrashed,
	}}
}

// excused returns the nodes that died while the run's code was tried: its attempts on them are
// not charged. The engine's mu is held.
func (r *activeRun) excused() []string {
	if t := r.partition.trials; t != nil && !t.over {
		return t.book.Nodes(r.id)
	}
	return nil
}

// run writes the book and admits the turns that it names, until the node has lived long enough
// or the partition is lost.
func (t *trials) run() {
	defer t.cancel()
	e := t.engine
	// A run that is to be terminated is not tried. A message that cannot be read now comes
	// later.
	_ = e.hearSince(t.partition, "", 0)
	timer := time.AfterFunc(calm, func() { t.kicked.Ring() })
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
func (t *trials) choose() (changed bool, left, admitted []*turnOnTrial) {
	e := t.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	left, t.left = t.left, nil
	cleared := len(t.cleared) > 0
	t.cleared = nil
	t.departing += len(left)
	for _, w := range left {
		t.book.Survived(w.run.id, w.went)
	}
	var ask []trial.Waiter
	rest := t.waiting[:0]
	for _, w := range t.waiting {
		if _, is := t.book.Poisoned(w.run.id, w.code.Fingerprint); is || e.crashesHere(store.SwitchWorkflow, w.code.Workflow).held != nil || w.run.run == nil && ends(w.run.mail) {
			admitted = append(admitted, w) // it runs without its code
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
	return cleared || len(left)+len(tried)+len(t.adopted) > 0, left, admitted
}

// lookAgain sets the timer for the next suspect that waits until the process has lived long
// enough. The engine's mu is held.
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
		t.again = time.AfterFunc(next, func() { t.kicked.Ring() })
	}
}

// alone reports whether nothing else runs that could crash the process: no attempt in the
// probation lane, no turn that may start one, and no suspect of another partition. The
// engine's mu is held.
func (t *trials) alone() bool {
	if t.departing == 0 && !t.engine.attempts.OnProbation() && !t.elsewhere() {
		return true
	}
	time.AfterFunc(laneAgain, func() { t.kicked.Ring() })
	return false
}

// elsewhere reports whether a suspect of another partition is being tried. The engine's mu is
// held.
func (t *trials) elsewhere() bool {
	for _, p := range t.engine.partitions {
		if other := p.trials; other != nil && other != t && !other.over && other.book.TriesSuspects() {
			return true
		}
	}
	return false
}

// laneAgain is how often suspects that wait for the probation lane are checked.
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

// commit writes a change of the book.
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

// end ends the trials and removes the book if the node has lived long enough and no suspect
// waits.
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
