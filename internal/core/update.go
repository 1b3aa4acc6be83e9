package core

import "github.com/perdure/perdure/internal/history"

// UpdateArrived asks the code for an update. If this run or an earlier one of its chain has
// seen its ID, the update is not made again: the caller is told where it was accepted.
type UpdateArrived struct {
	Name, ID string
	Asker    string // caller that gets the reply
	Value    history.Payload
}

func (UpdateArrived) input() {}

// Reply tells the caller of an update where it was accepted, or why it was not.
type Reply struct {
	Asker   string
	Run     string // run that accepted it
	Turn    int64
	Failure *history.Failure // set if the update was rejected
}

// maxUpdates is how many update IDs a run hands on when fewer are younger than KeepKeys.
// See maxHandedOn.
const maxUpdates = 1000

// acceptance is the turn that accepted an update.
type acceptance struct {
	run  string
	turn int64
}

// TakeUpdates says that the code has an update handler. From then on it may wait although
// nothing of its own is open.
func (r *Run) TakeUpdates() { r.code.updatable = true }

// handleUpdate records an update if the code's validator accepts it. The validator sees the
// state after the code's last turn.
func (r *Run) handleUpdate(in UpdateArrived) {
	var refusal error
	at, seen := r.facts.updates.get(in.ID)
	switch {
	case seen:
	case r.facts.updates.young(r.journal.now) >= maxYoung:
		refusal = &history.LimitError{What: "updates within " + KeepKeys.String(), Limit: maxYoung, Hint: "send it again later"}
	default:
		if refusal = r.journal.program.Validate(in.Name, in.Value); refusal == nil {
			r.facts.emit(history.Event{Kind: history.UpdateAccepted, Name: in.Name, ID: in.ID, Input: in.Value})
			at = acceptance{r.journal.start.Run, r.journal.currentTurn()}
		}
	}
	r.journal.out.Replies = append(r.journal.out.Replies, Reply{Asker: in.Asker, Run: at.run, Turn: at.turn, Failure: history.FromError(refusal)})
}

// handlerPanicked is the note of an update whose handler panicked.
const handlerPanicked = "the handler panicked"

// AnswerUpdate completes an update with a result or a failure.
func (r *Run) AnswerUpdate(id, name string, result history.Payload, failure *history.Failure) {
	r.code.command(history.Event{Kind: history.UpdateCompleted, Name: name, ID: id, Result: result, Failure: failure})
}

// UpdatePanicked completes an update whose handler panicked.
func (r *Run) UpdatePanicked(id, name string, failure *history.Failure) {
	r.code.command(history.Event{Kind: history.UpdateCompleted, Name: name, ID: id, Failure: failure, Note: handlerPanicked})
}
