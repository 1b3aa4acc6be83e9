package core

import "github.com/perdure/perdure/internal/history"

// UpdateArrived asks the code for an update. One whose ID was seen before, in this
// run or an earlier one of its chain, is not made again: the caller is told where
// it was.
type UpdateArrived struct {
	Name, ID string
	Asker    string // who is told what came of it
	Value    history.Payload
}

func (UpdateArrived) input() {}

// Reply tells who asked for an update what came of it: where it was accepted, or
// why it was not.
type Reply struct {
	Asker   string
	Run     string // in which it was accepted
	Turn    int64
	Failure *history.Failure // it was rejected
}

// maxUpdates is how many updates a run hands on to the next one of its chain although they
// are older than KeepKeys: see maxSeen.
const maxUpdates = 1000

// place is where an update was accepted.
type place struct {
	run  string
	turn int64
}

// TakeUpdates says that the code has a handler of updates: from here on it may wait
// although nothing of its own is open.
func (r *Run) TakeUpdates() { r.updatable = true }

// judgesUpdates reports whether an update can be judged now: by code that is there,
// goes on, and has come to where it first waits, so that a handler it does not have
// is one that it lacks.
func (r *Run) judgesUpdates() bool {
	return r.program != nil && r.codeRan && r.paused == nil && !r.ended
}

// update puts an update on record if the code's validator accepts it. The validator
// sees what the last turn of the code left.
func (r *Run) update(in UpdateArrived) {
	if at, seen := r.updates.get(in.ID); seen {
		r.out.Replies = append(r.out.Replies, Reply{Asker: in.Asker, Run: at.run, Turn: at.turn})
		return
	}
	if r.updates.young(r.now) >= maxYoung {
		err := &history.LimitError{What: "updates within " + KeepKeys.String(), Limit: maxYoung, Hint: "send it again later"}
		r.out.Replies = append(r.out.Replies, Reply{Asker: in.Asker, Failure: history.FromError(err)})
		return
	}
	if err := r.program.Validate(in.Name, in.Value); err != nil {
		r.out.Replies = append(r.out.Replies, Reply{Asker: in.Asker, Failure: history.FromError(err)})
		return
	}
	r.happened(history.Event{Kind: history.UpdateAccepted, Name: in.Name, ID: in.ID, Input: in.Value})
	r.out.Replies = append(r.out.Replies, Reply{Asker: in.Asker, Run: r.start.Run, Turn: r.CurrentTurn()})
}

// applyUpdateAccepted lets the handler of an update begin with the code's next turn.
func (r *Run) applyUpdateAccepted(e *history.Event) {
	r.updates.put(e.ID, place{r.start.Run, r.CurrentTurn()}, r.now)
	r.mustAdvance = true
	if r.program != nil && !r.program.Accept(e.ID, e.Name, e.Input) && r.mismatch == nil {
		expected := *e
		r.mismatch = &Mismatch{Turn: r.CurrentTurn(), Expected: &expected}
	}
}

// handlerPanicked is the note of an update whose handler panicked.
const handlerPanicked = "the handler panicked"

// AnswerUpdate ends an update with a result or a failure.
func (r *Run) AnswerUpdate(id, name string, result history.Payload, failure *history.Failure) {
	r.command(history.Event{Kind: history.UpdateCompleted, Name: name, ID: id, Result: result, Failure: failure})
}

// UpdatePanicked ends an update whose handler panicked.
func (r *Run) UpdatePanicked(id, name string, failure *history.Failure) {
	r.command(history.Event{Kind: history.UpdateCompleted, Name: name, ID: id, Failure: failure, Note: handlerPanicked})
}
