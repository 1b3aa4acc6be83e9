package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/around"
	"github.com/perdure/perdure/internal/attempt"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/hold"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/report"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// activeRun is a run in memory.
type activeRun struct {
	*resident
	engine *Engine

	run      *core.Run      // nil: to be loaded
	instance seal.Instance  // nil: no code; see hold
	hold     *hold.Hold     // why there is no code
	pin      string         // the build to which it was pinned when its code was last loaded
	again    bool           // it is held; it is reloaded when it may move to a node that has its code
	reviews  int            // how many reviews of held runs there had been when no node was found for it
	checked  int64          // the last turn after which its code was checked; see checkDeterminism
	differs  error          // what that found, until the next step parks the run
	start    *history.Start // the start event, from when the run is being loaded
	origin   *history.Start // the start event of a run that waits in memory for a slot

	around around.Attempts // see aroundAttempts
}

func (r *activeRun) machine() machine {
	if r.run == nil {
		return nil
	}
	return r.run
}

func (r *activeRun) step(t *turn) (err error) {
	e := r.engine
	if len(t.mail) == 1 && t.mail[0].Resets() {
		if err := r.prepareReset(&t.mail[0]); err != nil {
			return err
		}
	}
	unread := r.run.Backlog()
	cannot := r.leaveUnread(t)
	if r.differs != nil {
		cannot, r.differs = r.differs, nil
	}
	t.out, err = r.stepOrPark(t, cannot)
	// What the step did not use of the slots that the run had is free. After its first step the run is
	// not in line any more: if a call of it waits for a slot, it has taken over the run's place.
	e.dispatcher.grant(r.seats.Stepped(r.first))
	r.first = false
	if err != nil {
		return err
	}
	r.warnNear(e.config.MaxSignalBacklog, unread, r.run.Backlog(), e.log.BacklogLong)
	taken, deferred := post.Split(t.out, t.mail)
	t.deferred = deferred
	r.warnNear(e.config.MaxHistory, r.run.Length()-len(t.out.Events), r.run.Length(), e.log.HistoryLong)
	consumed := post.Sequences(taken)
	if t.out.Empty() && len(consumed) == 0 && r.create == nil {
		return nil
	}
	if t.commit, err = r.storeTurn(t.out); err != nil {
		r.parkCulprit(err)
		r.undone(t)
		return err
	}
	t.commit.Consumed = consumed
	if len(t.commit.Over) > 0 {
		t.commit.Consumed = r.location.box.WithUnread(t.commit.Over, consumed)
	}
	t.commit.Hook = e.hook(t.out, t.mail)
	if err = r.createFirst(t.out); err != nil {
		r.refused(t, err)
		return err
	}
	r.continues(t.out)
	t.due = true
	return nil
}

func (r *activeRun) committed(t *turn) {
	e := r.engine
	t.lost = e.log.Failures(report.Of(r.run.Began()), t.out)
	e.config.Observers.Turn(e.log.Log, r.run.Began(), t.out)
	t.differs = r.checkDeterminism(t.out.Number)
}

func (r *activeRun) apply(t *turn) error {
	e := r.engine
	if t.due {
		r.recordDurable(&t.commit)
	}
	e.dispatcher.recovery.Lost(t.lost)
	r.putOff(t)
	r.carryOut(t.out)
	if r.differs = t.differs; r.differs != nil {
		r.poked = true
	}
	if r.run.Ended() {
		return nil
	}
	// A review that came before the row said that the run is held has not seen it.
	missed := r.hold != nil && r.reviews != e.nodes.Reviews()
	switch {
	case (r.again || missed) && !r.atWorkLocked(nil):
		r.again, r.poked = false, true
		return errWithoutCode
	case r.run.Damaged():
		return errDamaged
	case r.instance == nil && r.hold == nil || r.moved() || r.run.LetGo():
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

func (r *activeRun) refused(t *turn, err error) {
	e := r.engine
	conflict, failed, other := (*store.ConflictError)(nil), (*store.HookError)(nil), (*seal.OtherTxError)(nil)
	switch {
	case errors.As(err, &failed) && errors.As(err, &other):
		// The function takes a type of transaction that the database does not give: no attempt can
		// mend that, and a build may.
		r.parkCulprit(fmt.Errorf("step transaction: %w; nothing of the attempt is recorded: mend the code and restart the engine, which then makes an attempt again %s", failed.Err, see.Commit))
	case errors.As(err, &failed):
		r.transactionFailed(t.mail, failed.Err)
	case errors.As(err, &conflict):
		r.startConflict(t.mail, &conflict.Existing)
	case errors.Is(err, store.ErrFenced): // its location is lost already; see take
	case errors.Is(err, store.ErrClaimed):
		r.toldMeanwhile(t)
	case errors.Is(err, store.ErrStale):
		e.log.TurnRefused(r.id, t.out.Number)
		r.putBack(t.mail)
		e.mu.Lock()
		r.noteCreated() // its row exists, else there would be no other turn
		e.mu.Unlock()
	case e.life.ctx.Err() != nil:
	default:
		r.parkCulprit(err)
	}
	r.undone(t)
}

// undone reverts in memory the effects of a step that is not durable.
func (r *activeRun) undone(t *turn) {
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if t.given > 0 {
		r.location.box.Defer(r.id, nil) // it is part of the mail
	}
	r.undo(t.out)
	r.continued(t.out)
}

// close unwinds the code.
func (r *activeRun) close() {
	if r.instance != nil {
		r.instance.Close()
		r.instance = nil
	}
}

// carryOut executes the commands of a durable turn. The engine's mu is held.
func (r *activeRun) carryOut(out *core.Turn) {
	e := r.engine
	r.stepping = false
	r.continued(out)
	if r.dropped { // another node took the run over and carries them out
		r.undo(out)
		return
	}
	r.noteUnserved()
	for _, x := range r.running(out.Interrupt) {
		x.Cancel()
	}
	for _, x := range r.running(out.Halted) {
		x.Decline()
	}
	if len(out.Unused) > 0 {
		e.dispatcher.grantLocked(r.seats.Withdraw(out.Unused...))
	}
	for i := range out.Dispatch {
		d := &out.Dispatch[i]
		r.begin(d, r.seats.Begin(d.Call))
	}
	for _, x := range r.running(out.OffProbation) {
		e.acquit(x.Activity(), core.AttemptID(r.id, x.Call, x.Number), x.LeaveProbation)
	}
	r.crashed(out.Crashed)
	r.tellWaiting(out.Waiting)
	if out.Dropped > 0 {
		e.log.InputsLate(r.id, out.Dropped)
	}
	for _, reply := range out.Replies {
		if p, is := errors.AsType[*retry.PanicError](reply.Failure.Err()); is {
			e.log.HandlerPanicked(report.Of(r.run.Began()), "validator", p.Value, p.Stack)
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
		e.Ended(r.run.Start().WorkflowID, r.id, *out.State)
		if out.Next != nil {
			r.handOn(out.Next)
		} else {
			e.inbox.office.Undirect(r.run.Began().WorkflowID, r.id) // the next run of the ID belongs to another chain
		}
		r.evict()
	}
}

// tellWaiting calls the hook for each call that waits for a person, and then delivers to the
// run that the hook has returned. The engine's mu is held.
func (r *activeRun) tellWaiting(waiting []core.Waiting) {
	e := r.engine
	if len(waiting) == 0 || e.life.phase == stopped {
		return
	}
	start := r.run.Start()
	p, id := r.location, r.id
	e.code.pool.Run(func() {
		for _, w := range waiting {
			e.config.TellPaused(e.log.Log, view.PausedCall{
				WorkflowID: start.WorkflowID, RunID: id, Workflow: start.Type, Call: w.Call, Name: w.Name,
				State: string(w.State), Reason: w.Reason, Failures: w.Failures, Err: w.Failure.Err(), Time: time.Unix(0, w.At).UTC(),
			})
			p.deliver(id, post.Mail{Input: core.Told{AttemptRef: w.AttemptRef}})
		}
	})
}

// running returns those of some attempts that run here.
func (r *activeRun) running(refs []core.AttemptRef) (all []*attempt.Attempt) {
	for _, ref := range refs {
		if x := r.engine.attempts.Get(attempt.Key{Run: r.id, Call: ref.Call, Number: ref.Attempt}); x != nil {
			all = append(all, x)
		}
	}
	return all
}

// storeTurn translates a turn of the core for the store.
func (r *activeRun) storeTurn(out *core.Turn) (t store.Turn, err error) {
	t = r.change()
	if out.Next == nil { // else createFirst sends it
		if t.Messages, err = r.announcement(); err != nil {
			return t, err
		}
	}
	if t, err = record.Turn(r.engine.db.group, t, r.run, r.create, out); err != nil {
		return t, err
	}
	err = r.settleTasks(out, &t)
	return t, err
}

// warnNear warns in a turn in which a run comes close to a limit: its length, once, or its unread
// signals, each time.
func (r *activeRun) warnNear(limit, before, now int, warn func(of logs.Run, now, limit int)) {
	if mark := inspect.Near(limit); now >= mark && before < mark {
		warn(report.Of(r.run.Began()), now, limit)
	}
}
