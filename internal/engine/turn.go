package engine

import (
	"errors"

	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/suspicion"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// turn takes one step of a resident and makes it durable. If it returns an error, the resident
// must be evicted.
func (e *Engine) turn(r *resident, todo []mail) error {
	var onTrial *suspicion.Turn
	if run, is := r.stepper.(*activeRun); is {
		if run.entry == written {
			return e.getInLine(run, todo)
		}
		var err error
		if onTrial, err = e.try(run, todo); err != nil {
			return err
		}
		defer onTrial.Finished()
	}
	loaded := r.machine() == nil
	if loaded {
		if err := r.stepper.load(todo); err != nil {
			onTrial.WentOn(errors.Is(err, errElsewhere))
			return err
		}
	}
	t, due, err := r.stepper.step(todo, loaded)
	onTrial.Survived() // what follows is not done by its code
	if err != nil {
		return err
	}
	if due {
		if err := e.committer.Commit(t); err != nil {
			if errors.Is(err, store.ErrFenced) {
				e.lose(r.partition)
			}
			r.stepper.refused(err)
			return err
		}
		onTrial.WentOn(t.Number > 0)
		e.settled(r, &t)
		e.sent(&t)
	}
	return r.stepper.stored()
}

// putBack puts mail that no durable turn has consumed back into the mailbox.
func (e *Engine) putBack(r *resident, todo []mail) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r.mail = append(todo, r.mail...)
	r.poked = true
}

// settled records that a turn is durable: its messages are consumed, and the row that it
// creates exists.
func (e *Engine) settled(r *resident, t *store.Turn) {
	created := t.Create != nil && t.Create.ID == r.id
	if !created && len(t.Consumed) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if created {
		e.created(r)
		e.tellStarted(r, nil)
	}
	r.partition.inbox.consumed(t.Consumed)
}

// sent makes the inbox be read soon if a durable turn sent messages to this node.
func (e *Engine) sent(t *store.Turn) {
	if len(t.Messages) == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range t.Messages {
		if m := &t.Messages[i]; m.Kind != message.KindAnswer && e.servesOf(m.Partition) {
			e.kickInbox()
			return
		}
	}
}

// activeRun is a run in memory.
type activeRun struct {
	*resident
	engine *Engine

	run      *core.Run      // nil: to be loaded
	instance seal.Instance  // nil: no code; see hold
	hold     *hold          // why there is no code
	pin      string         // the build to which it was pinned when its code was last loaded
	again    bool           // it is held; it is reloaded when it may move to a node that has its code
	reviews  int            // how many reviews of held runs there had been when no node was found for it
	checked  int64          // the last turn after which its code was checked; see checkDeterminism
	differs  error          // what that found, until the next step parks the run
	start    *history.Start // the start event, from when the run is being loaded
	origin   *history.Start // the start event of a run that waits in memory for a slot

	withTrace map[string]string // see headers
	around    around.Attempts   // see aroundAttempts

	// The step in progress:
	out            *core.Turn
	todo, deferred []mail       // its mail, and the part of it that is deferred again
	inputs         []core.Input // reused for the next step
	given          bool         // the deferred mail is part of todo
}

func (r *activeRun) machine() machine {
	if r.run == nil {
		return nil
	}
	return r.run
}

func (r *activeRun) load(todo []mail) error { return r.engine.load(r, todo) }

func (r *activeRun) step(todo []mail, loaded bool) (t store.Turn, due bool, err error) {
	e := r.engine
	if todo, err = e.hearFirst(r.resident, r.run.Began().WorkflowID, todo, loaded); err != nil {
		return t, false, err
	}
	if r.todo, r.given, err = e.gather(r, todo); err != nil {
		return t, false, err
	}
	unread := r.run.Backlog()
	cannot := e.leaveUnread(r)
	if r.differs != nil {
		cannot, r.differs = r.differs, nil
	}
	r.out, err = e.stepOrPark(r, e.inputs(r, loaded), cannot)
	e.leavesLine(r.resident)
	if err != nil {
		return t, false, err
	}
	clear(r.inputs)
	e.warnOfBacklog(r, unread)
	taken, deferred := split(r.out, r.todo)
	r.deferred = deferred
	e.warnOfLength(r, len(r.out.Events))
	consumed := sequences(taken)
	if r.out.Empty() && len(consumed) == 0 && r.create == nil {
		return t, false, nil
	}
	if t, err = e.storeTurn(r, r.out); err != nil {
		e.parkCulprit(r, err)
		r.undone()
		return t, false, err
	}
	t.Consumed = consumed
	if len(t.Over) > 0 {
		t.Consumed = e.withUnread(r.partition, t.Over, consumed)
	}
	t.Hook = e.hook(r.out, r.todo)
	if err = e.createFirst(r, r.out); err != nil {
		r.refused(err)
		return t, false, err
	}
	e.continues(r.resident, r.out)
	return t, true, nil
}

func (r *activeRun) stored() error {
	r.engine.putOff(r)
	r.engine.report(r, r.out)
	r.engine.observe(r, r.out)
	r.engine.carryOut(r, r.out)
	if r.differs = r.engine.checkDeterminism(r, r.out.Number); r.differs != nil {
		r.engine.mu.Lock()
		r.poked = true
		r.engine.mu.Unlock()
	}
	r.out.Clear()
	r.engine.turns.Put(r.out)
	r.out, r.todo, r.deferred = nil, nil, nil
	// A review that came before the row said that the run is held has not seen it.
	missed := r.hold != nil && r.reviews != r.engine.nodes.Reviews()
	if (r.again || missed) && !r.run.Ended() && !r.engine.atWork(r, nil) {
		r.again = false
		r.engine.mu.Lock()
		defer r.engine.mu.Unlock()
		r.poked = true
		return errWithoutCode
	}
	if r.run.Damaged() && !r.run.Ended() {
		return errDamaged
	}
	if !r.run.Ended() && (r.instance == nil && r.hold == nil || r.moved() || r.run.LetGo()) {
		r.engine.mu.Lock()
		defer r.engine.mu.Unlock()
		r.poked = true
		return errWithoutCode
	}
	return nil
}

// moved reports whether the run was pinned to another build since it was loaded, so that it
// continues elsewhere, or now here.
func (r *activeRun) moved() bool {
	pin := r.run.Pin()
	return pin != r.pin && (r.hold != nil || pin != r.engine.config.Build)
}

func (r *activeRun) refused(err error) {
	e := r.engine
	conflict, failed, other := (*store.ConflictError)(nil), (*store.HookError)(nil), (*seal.OtherTxError)(nil)
	switch {
	case errors.As(err, &failed) && errors.As(err, &other):
		e.parkCulprit(r, wrongTransaction(failed.Err))
	case errors.As(err, &failed):
		e.transactionFailed(r.resident, r.todo, failed.Err)
	case errors.As(err, &conflict):
		e.startConflict(r.resident, r.todo, &conflict.Existing)
	case errors.Is(err, store.ErrFenced):
	case errors.Is(err, store.ErrClaimed):
		e.toldMeanwhile(r)
	case errors.Is(err, store.ErrStale):
		e.log.TurnRefused(r.id, r.out.Number)
		e.putBack(r.resident, r.todo)
		e.mu.Lock()
		e.created(r.resident) // its row exists, else there would be no other turn
		e.mu.Unlock()
	case e.ctx.Err() != nil:
	default:
		e.parkCulprit(r, err)
	}
	r.undone()
}

// undone reverts in memory the effects of a step that is not durable.
func (r *activeRun) undone() {
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if r.given {
		delete(r.partition.inbox.deferred, untaken(r.id)) // it is part of todo
	}
	e.undo(r.resident, r.out)
	e.continued(r.resident, r.out)
}

// close unwinds the code.
func (r *activeRun) close() {
	if r.instance != nil {
		r.instance.Close()
		r.instance = nil
	}
}

// tellStarted sends err to the callers that wait for the run's row. The engine's mu is held.
func (e *Engine) tellStarted(r *resident, err error) {
	for _, ch := range r.started {
		ch <- err
	}
	r.started = nil
}

// undo frees the slots of a turn that is not durable. The engine's mu is held.
func (e *Engine) undo(r *resident, out *core.Turn) {
	for _, d := range out.Dispatch {
		e.grant(r.seats.Withdraw(d.Call))
	}
}

// carryOut executes the commands of a durable turn.
func (e *Engine) carryOut(r *activeRun, out *core.Turn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r.stepping = false
	e.continued(r.resident, out)
	if r.dropped { // another node took the run over and carries them out
		e.undo(r.resident, out)
		return
	}
	e.noteUnserved(r)
	for _, i := range out.Interrupt {
		if x := e.attempts.Get(attempt.Key{Run: r.id, Call: i.Call, Number: i.Attempt}); x != nil {
			x.Cancel()
		}
	}
	for _, ref := range out.Halted {
		if x := e.attempts.Get(attempt.Key{Run: r.id, Call: ref.Call, Number: ref.Attempt}); x != nil {
			x.Decline()
		}
	}
	if len(out.Unused) > 0 {
		e.grant(r.seats.Withdraw(out.Unused...))
	}
	for i := range out.Dispatch {
		d := &out.Dispatch[i]
		e.begin(r, d, r.seats.Begin(d.Call))
	}
	for _, ref := range out.OffProbation {
		if x := e.attempts.Get(attempt.Key{Run: r.id, Call: ref.Call, Number: ref.Attempt}); x != nil {
			e.acquit(x.Activity(), core.AttemptID(r.id, ref.Call, ref.Attempt), x.LeaveProbation)
		}
	}
	e.accuse(r, out.Crashed)
	e.tellWaiting(r, out.Waiting)
	if out.Dropped > 0 {
		e.log.InputsLate(r.id, out.Dropped)
	}
	for _, reply := range out.Replies {
		if p, is := errors.AsType[*retry.PanicError](reply.Failure.Err()); is {
			e.log.HandlerPanicked(logged(r.run.Start()), "validator", p.Value, p.Stack)
		}
		e.Notify(message.AnswerTo(reply.Asker))
	}
	if out.Answered && !out.Ended { // else Ended says so
		e.Notify(r.id)
	}
	if out.Again {
		r.poked = true
	}
	if out.Ended {
		e.Ended(r.id, *out.State)
		if out.Next != nil {
			e.handOn(r.resident, out.Next)
		} else if id := r.run.Began().WorkflowID; e.routes[id].run == r.id {
			delete(e.routes, id) // the next run of the ID belongs to another chain
		}
		e.unload(r.resident)
	}
}

// storeTurn translates a turn of the core for the store.
func (e *Engine) storeTurn(r *activeRun, out *core.Turn) (t store.Turn, err error) {
	p := r.partition
	of := r.ref()
	t = store.Turn{Partition: p.home, Ward: p.ward, Epoch: p.epoch, Run: r.id, Number: out.Number, Time: out.Time, Closed: out.Closed}
	if out.Number > 0 {
		events, err := history.SealTurn(r.id, out.Number, out.Time, out.Events)
		if err != nil {
			return t, err
		}
		t.Events, t.CommitID = events, ident.NewCommit()
	}
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
		if t.Create, err = record.NewRun(p.home, out.Next); err != nil {
			return t, err
		}
		if t.Create.Base, err = record.StoreBase(out.Next.Run, of, out.Base); err != nil {
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
		began := r.run.Began()
		t.Tallies = record.Tallies(record.NameOf(began.Type, began.Attributes[view.FileAttribute]), out.Time, out.Tallies)
	}
	if err := e.storeTasks(r, out, &t); err != nil {
		return t, err
	}
	if out.Next == nil { // else createFirst sends it
		if t.Messages, err = e.announcement(r.resident); err != nil {
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
	answers, err := replies(p, out) // they may arrive twice as well
	t.Messages = append(t.Messages, answers...)
	return t, err
}
