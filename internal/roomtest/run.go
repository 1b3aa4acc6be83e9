package roomtest

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// Run is a run that the Scene owns.
type Run struct {
	*Scene
	ID, WorkflowID string
	Partition      int
	Core           *core.Run
	Work           *Work      // nil without code
	Turn           *core.Turn // the last one

	create   *store.Run
	consumed []int64
	answers  []store.Message
}

func (r *Run) drop() {
	if r.Work != nil {
		r.Work.stop()
	}
	delete(r.runs, r.ID)
}

// Step makes a turn of inputs, and of what is due, durable.
func (r *Run) Step(inputs ...core.Input) *core.Turn {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.step(inputs...)
}

func (r *Run) step(inputs ...core.Input) *core.Turn {
	r.Helper()
	admit := r.Admit
	if admit == nil {
		admit = func(*core.Call) bool { return true }
	}
	for i, in := range inputs {
		inputs[i] = r.prepared(in)
	}
	turn, err := r.Core.Step(r.Now(), inputs, admit)
	if mismatch := (*core.Mismatch)(nil); errors.As(err, &mismatch) {
		r.hold(core.StatusParked, core.Detail{Reason: err.Error(), Mismatch: mismatch})
		return r.Turn
	}
	r.Must(err)
	r.commit(turn)
	if turn.Again {
		return r.step()
	}
	return turn
}

// prepared adds to a reset what the caller of Step adds.
func (r *Run) prepared(in core.Input) core.Input {
	c, is := in.(core.Control)
	if !is || c.Operation != core.ResetTheRun {
		return in
	}
	rows, err := r.DB.History(r.ctx(), r.Partition, r.ID, 0, 0)
	r.Must(err)
	start := r.Core.Start()
	turns, _ := record.Turns(&start, 0, rows)
	c.Cut, c.Fault = core.CutAt(&start, turns, c.Call)
	return c
}

func (r *Run) commit(turn *core.Turn) {
	r.Helper()
	r.Turn = turn
	if turn.Empty() && len(r.consumed) == 0 && r.create == nil {
		return
	}
	r.write(r.stored(turn))
	if turn.Ended {
		r.drop()
		if r.Ended != nil {
			r.Ended(r.WorkflowID, r.ID, *turn.State)
		}
		if turn.Next != nil {
			r.load(turn.Next.Run, r.Partition)
		}
	} else if turn.Answered && r.Notify != nil {
		r.Notify(r.ID)
	}
	for _, reply := range turn.Replies {
		if r.Notify != nil {
			r.Notify(message.AnswerTo(reply.Asker))
		}
	}
}

// stored translates a turn.
func (r *Run) stored(out *core.Turn) store.Turn {
	r.Helper()
	into := store.Turn{Partition: r.Partition, Epoch: r.epochs[r.Partition], Run: r.ID, Consumed: r.consumed, Messages: r.answers}
	t, err := record.Turn(r.Group, into, r.Core, r.create, out)
	r.Must(err)
	r.consumed, r.create, r.answers = nil, nil, nil
	return t
}

// write commits one turn.
func (s *Scene) write(t store.Turn) {
	s.Helper()
	result, err := s.DB.Commit(s.ctx(), []store.Turn{t})
	s.Must(err)
	s.Must(result.Errors[0])
}

// Attempt returns the number of the attempt that a call is in.
func (r *Run) Attempt(call int64) int {
	r.Helper()
	calls, err := r.DB.Calls(r.ctx(), r.Partition, r.ID)
	r.Must(err)
	for _, c := range calls {
		if c.Has(call) {
			return c.Attempt
		}
	}
	return 1 // it has no row yet
}

// End ends the attempt of a call.
func (r *Run) End(call int64, outcome core.Outcome, result history.Payload, f *history.Failure) {
	r.Helper()
	r.Step(core.AttemptEnded{Call: call, Attempt: r.Attempt(call), Outcome: outcome, Result: result, Failure: f, Ended: r.Now()})
}

// Completes ends the attempt of a call with a result.
func (r *Run) Completes(call int64, result any) {
	r.Helper()
	r.End(call, core.Completed, Payload(result), nil)
}

// Fails ends the attempt of a call with an error of a type.
func (r *Run) Fails(call int64, kind, text string) {
	r.Helper()
	r.End(call, core.Failed, history.Payload{}, history.FromError(&Error{kind, text}))
}

// Error is an error with a type.
type Error struct{ Kind, Text string }

func (e *Error) Error() string { return e.Text }

// ErrorType implements retry's interface of errors that name their type.
func (e *Error) ErrorType() string { return e.Kind }

// Asks carries out an operation on the run or its calls.
func (r *Run) Asks(c core.Control) {
	r.Helper()
	if c.ID == "" {
		c.ID = fmt.Sprintf("request-%d", r.Core.Length())
	}
	r.Step(c)
}

// Signals sends a signal to the run.
func (r *Run) Signals(name string, value any) {
	r.Helper()
	r.Step(core.Control{Operation: core.SignalTheRun, Signal: name, Value: Payload(value)})
}

// Park takes the code of the run away, because it does not fit, or the record is damaged.
func (r *Run) Park(d core.Detail) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold(core.StatusParked, d)
}

// Await takes the code of the run away, because no node has it.
func (r *Run) Await(d core.Detail) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold(core.StatusWaitingForCode, d)
}

func (r *Run) hold(status core.Status, d core.Detail) {
	r.Helper()
	start := r.Core.Start()
	r.drop()
	rec, err := r.DB.Load(r.ctx(), r.Partition, r.ID)
	r.Must(err)
	code := r.codes[start.Type]
	r.codes[start.Type] = nil
	held := r.machine(r.Partition, start)
	r.codes[start.Type] = code
	past, err := record.Decode(rec)
	r.Must(err)
	r.Must(held.Core.Load(past.Turns, past.Rows, past.State))
	if d.Since == 0 {
		d.Since = r.Now()
	}
	held.Core.Hold(status, d)
	r.Core, r.Work = held.Core, nil
	r.runs[r.ID] = r
	turn, err := r.Core.Step(r.Now(), nil, func(*core.Call) bool { return false })
	r.Must(err)
	r.commit(turn)
}

// Row returns the row of the run.
func (r *Run) Row() *store.Run {
	r.Helper()
	row, err := r.DB.Find(r.ctx(), r.Partition, r.WorkflowID, r.ID)
	r.Must(err)
	return row
}
