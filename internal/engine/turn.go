package engine

import (
	"errors"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// turn takes one step of a run, a gate or a schedule, and makes it durable. An error means
// that the resident is of no use any more.
func (e *Engine) turn(r *resident, todo []mail) error {
	switch entity.KindOf(r.id) {
	case entity.Gate:
		return e.gateTurn(r, todo)
	case entity.Schedule:
		return e.scheduleTurn(r, todo)
	}
	loaded := r.run == nil
	if loaded {
		if err := e.load(r, todo); err != nil {
			return err
		}
	}
	todo, given, err := e.gather(r, todo, loaded)
	if err != nil {
		return err
	}
	unread := r.run.Backlog()
	out, err := e.stepOrPark(r, e.inputs(r, todo, loaded), todo)
	if err != nil {
		return err
	}
	e.warnOfBacklog(r, unread)
	taken, deferred := split(out, todo)
	e.warnOfLength(r, len(out.Events))
	if !out.Empty() || len(sequences(taken)) > 0 || r.create != nil {
		if err := e.commitTurn(r, out, todo, taken); err != nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			if given {
				delete(r.partition.inbox.deferred, untaken(r.id)) // it is part of todo
			}
			e.undo(r, out)
			e.continued(r, out)
			return err
		}
	}
	e.putOff(r, out, given, deferred)
	e.carryOut(r, out)
	return nil
}

// commitTurn makes a turn durable, and consumes what it took of what was to be done.
func (e *Engine) commitTurn(r *resident, out *core.Turn, todo, taken []mail) error {
	t, err := e.storeTurn(r, out)
	if err != nil {
		e.parkCulprit(r, err)
		return err
	}
	t.Consumed = sequences(taken)
	t.Hook = e.hook(out, todo)
	if err = e.createFirst(r, out); err == nil {
		e.continues(r, out)
		err = e.committer.Commit(t)
	}
	conflict, failed := (*store.ConflictError)(nil), (*store.HookError)(nil)
	switch {
	case err == nil:
		e.settled(r, t.Consumed)
		e.sent(&t)
		return nil
	case errors.As(err, &failed):
		e.transactionFailed(r, todo, failed.Err)
	case errors.As(err, &conflict):
		e.startConflict(r, todo, &conflict.Existing)
	case errors.Is(err, store.ErrFenced):
		e.lose(r.partition)
	case errors.Is(err, store.ErrStale):
		e.log.Error("perdure: a turn was refused because another one took its place; the run is loaded anew", "run", r.id, "turn", out.Number)
		e.putBack(r, todo)
		e.mu.Lock()
		e.created(r) // its row is there, or no turn could be
		e.mu.Unlock()
	case e.ctx.Err() != nil:
	default:
		e.parkCulprit(r, err)
	}
	return err
}

// putBack returns mail whose turn was refused; the run will be loaded anew.
func (e *Engine) putBack(r *resident, todo []mail) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r.mail = append(todo, r.mail...)
	r.poked = true
}

// settled notes that a turn is durable: the run's row exists, its messages are
// consumed.
func (e *Engine) settled(r *resident, consumed []int64) {
	if r.create == nil && len(consumed) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.create != nil {
		e.created(r)
		e.tellStarted(r, nil)
	}
	r.partition.inbox.consumed(consumed)
}

// tellStarted answers those who wait for the run's row. The engine's mu is held.
func (e *Engine) tellStarted(r *resident, err error) {
	for _, ch := range r.started {
		ch <- err
	}
	r.started = nil
}

// undo gives back what a turn that is not durable had reserved. Slots that were
// granted are given back when the resident is unloaded. The engine's mu is held.
func (e *Engine) undo(r *resident, out *core.Turn) {
	for _, d := range out.Dispatch {
		if _, granted := r.granted[d.Call]; !granted {
			e.slots.release(e, laneOf(d.Probation))
		}
	}
}

// carryOut does what a durable turn asks for.
func (e *Engine) carryOut(r *resident, out *core.Turn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.continued(r, out)
	if r.dropped { // another node took the run over and does it
		e.undo(r, out)
		return
	}
	for _, i := range out.Interrupt {
		if x := e.executions[attemptKey{r.id, i.Call, i.Attempt}]; x != nil {
			x.cancel(errUnwanted)
		}
	}
	for _, call := range out.Unused {
		if l, ok := r.granted[call]; ok {
			delete(r.granted, call)
			e.slots.release(e, l)
		}
	}
	for _, d := range out.Dispatch {
		l, granted := r.granted[d.Call]
		if !granted {
			l = laneOf(d.Probation)
		}
		delete(r.granted, d.Call)
		e.begin(r, d, l)
	}
	for _, ref := range out.OffProbation {
		e.leaveProbation(e.executions[attemptKey{r.id, ref.Call, ref.Attempt}])
	}
	e.tellWaiting(r, out.Waiting)
	if out.Dropped > 0 {
		e.log.Debug("perdure: late or repeated inputs were dropped", "run", r.id, "count", out.Dropped)
	}
	for _, reply := range out.Replies {
		e.ring(message.AnswerTo(reply.Asker))
	}
	if out.Answered || out.Ended {
		e.ring(r.id)
	}
	if out.Again {
		r.poked = true
	}
	if out.Ended {
		e.tellEndedLocked(r.id, *out.State)
		if out.Next != nil {
			e.handOn(r, out.Next)
		} else if id := r.run.Start().WorkflowID; e.routes[id].run == r.id {
			delete(e.routes, id) // the next run of the ID is of another chain
		}
		e.unload(r)
	}
}

// storeTurn is a core turn in the store's words.
func (e *Engine) storeTurn(r *resident, out *core.Turn) (t store.Turn, err error) {
	p := r.partition
	of := r.ref()
	t = store.Turn{Partition: p.number, Epoch: p.epoch, Run: r.id, Number: out.Number, Time: out.Time, Closed: out.Closed}
	if out.Number > 0 {
		events, err := history.EncodeTurn(out.Events)
		if err != nil {
			return t, err
		}
		t.Events, t.CommitID = events, ident.NewCommit()
	}
	r.run.Recycle(out)
	if out.State != nil {
		s := record.StoreState(*out.State)
		t.State = &s
	}
	if out.Attributes != nil {
		changed := record.StoreAttributes(out.Attributes)
		t.Attributes = &changed
	}
	switch {
	case out.Next != nil:
		if t.Create, err = record.NewRun(p.number, out.Next); err != nil {
			return t, err
		}
		if t.Create.Base, err = record.StoreBase(of, out.Base); err != nil {
			return t, err
		}
	case r.create != nil:
		c := *r.create
		if t.State != nil {
			c.RunState, t.State = *t.State, nil
		}
		t.Create = &c
	}
	t.Calls = record.StoreRows(of, out.Rows)
	t.Attempts = record.Attempts(of, out.Attempts)
	if len(out.Tallies) > 0 {
		t.Tallies = record.Tallies(r.run.Start().Type, out.Time, out.Tallies)
	}
	if out.Next == nil { // else createFirst says so
		if t.Messages, err = e.announcement(r); err != nil {
			return t, err
		}
	}
	for i := range out.Messages {
		msg, err := message.FromRun(e.group, &out.Messages[i])
		if err != nil {
			return t, err
		}
		t.Messages = append(t.Messages, msg)
	}
	for i := range out.Gates {
		t.Messages = append(t.Messages, message.ToGate(e.group, &out.Gates[i]))
	}
	t.Repeatable = len(t.Messages) == len(out.Gates)
	answers, err := replies(p, out) // which may arrive twice as well
	t.Messages = append(t.Messages, answers...)
	return t, err
}
