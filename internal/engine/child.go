package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// A run starts a child by a message, which its turn sends to the partition of the child. The
// owner of that partition creates the child in the transaction of the child's first turn,
// which consumes the message. So there is exactly one child for the message, whichever process
// dies. The result is a message back, in the turn that closes the child.

// pendingStart is the start of a child whose row is not durable yet. It is guarded as
// resident.create is.
type pendingStart struct {
	start    history.Start
	sequence int64 // of the start message
}

func (s *pendingStart) past() *core.Past {
	return &core.Past{Start: s.start, State: core.State{Status: core.StatusRunning, Wake: max(core.Hot, s.start.FirstTurn)}}
}

// routeStart starts a child. From then on messages for its workflow ID are routed to it.
func (i *inbox) routeStart(m store.Message, l *post.Look) {
	e := i.engine
	p := i.claim(m, l)
	if p == nil {
		return
	}
	start, err := history.DecodeStart(m.Data)
	if err == nil && (start.Parent == nil || start.WorkflowID != m.WorkflowID || start.Run != m.Run) {
		err = fmt.Errorf("its start event is that of run %q of workflow %q, with the parent %+v", start.Run, start.WorkflowID, start.Parent)
	}
	var row *store.Run
	if err == nil {
		row, err = record.NewRun(p.Partition, &start)
	}
	if err != nil {
		e.log.ChildNotStarted(m.WorkflowID, m.Run, err)
		p.box.AwaitStart(m.WorkflowID, m.Run)
		return
	}
	if start.Scheduled != nil && p.alreadyFired(m) {
		return
	}
	away := e.nodes.ToBegin(&start, nil) != ""
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.Lost() {
		return // another node owns it
	}
	again, ok := p.box.Start(start.WorkflowID, start.Run, m.Sequence)
	if !ok {
		return
	}
	i.lookAgain(again)
	if e.residents.all[start.Run] == nil { // else it was loaded, so it exists
		r := p.resident(start.Run)
		r.create, r.pending = row, &pendingStart{start: start, sequence: m.Sequence}
		if r.elsewhere = away; away || e.canWait(&start) && !r.seats.Take() {
			r.entry = written
		}
		e.inbox.office.Direct(start.WorkflowID, post.Route{Box: p.box, Run: start.Run, Stage: post.Starting})
	}
	p.deliverLocked(start.Run, post.Mail{Sequence: m.Sequence})
}

// announcement returns the message that tells a detached child's parent that the child exists.
// The turn that creates the child sends it.
func (r *resident) announcement() ([]store.Message, error) {
	if r.pending == nil {
		return nil, nil
	}
	return message.ToParentBegun(r.location.engine.db.group, &r.pending.start)
}

// startConflict tells the parent of a child that the workflow ID is in use. Messages for the
// latest run of the ID are routed again, to the existing run; messages for the refused child
// are dropped.
func (r *resident) startConflict(todo []post.Mail, existing *store.Run) {
	e := r.location.engine
	s := r.pending
	if s == nil {
		return // the caller that waits gets the error
	}
	if record.MayFollow(&s.start, existing) {
		r.startAfter(todo, existing)
		return
	}
	answer, err := message.ToParentInUse(e.db.group, s.start.Parent, existing)
	if err != nil {
		e.log.ParentNotTold(r.id, err)
		return
	}
	own := []post.Mail{{Sequence: s.sequence}}
	e.mu.Lock()
	r.noteCreated()
	var again []post.Mail
	for _, m := range slices.Concat(todo, r.mail) {
		if m.Latest != "" {
			again = append(again, m)
		} else if m.Sequence != s.sequence {
			own = append(own, m)
		}
	}
	r.mail = nil
	r.location.routeAgain(again)
	e.mu.Unlock()
	t := r.change()
	t.Consumed, t.Messages, t.Repeatable = post.Sequences(own), []store.Message{answer}, true
	_ = r.commit(t) // else the message stays for another try, or another owner
}

// parkedStart returns the turn that creates a run as parked, because it cannot take its first
// turn.
func (r *resident) parkedStart(state store.RunState) store.Turn {
	row := *r.create
	row.RunState = state
	messages, err := r.announcement()
	if err != nil {
		r.location.engine.log.ParentNotTold(r.id, err)
	}
	t := r.change()
	t.Create, t.Consumed, t.Messages = &row, []int64{r.pending.sequence}, messages
	return t
}

// deferStart leaves the start message of a run that could not even be parked in the inbox,
// together with its mail. The engine's mu is held.
func (r *resident) deferStart() {
	p, id := r.location, r.pending.start.WorkflowID
	latest, own := post.Divide(r.mail)
	p.box.AwaitStart(id, r.id, own...)
	p.routeAgain(latest) // it may be for the run that gets the ID instead
	r.mail = nil
}

// alreadyFired reports whether the run that a schedule starts exists, and drops the message if
// so: a schedule may send the start of a run twice.
func (p *location) alreadyFired(m store.Message) bool {
	e := p.engine
	err := e.db.reads.Insist(e.life.ctx, "looking for the run of a schedule", func() error {
		_, err := e.db.Find(e.life.ctx, p.Partition, "", m.Run)
		return err
	})
	switch {
	case err == nil:
		p.drop(m)
		return true
	case !errors.Is(err, store.ErrNotFound):
		p.box.Forget(m.Sequence)
		return true
	}
	return false
}

// startAfter starts a refused child again, as the successor of the run that had its workflow
// ID, and delivers its mail again. It replaces the refused resident, because the turn of its
// code began without the existing run.
func (r *resident) startAfter(todo []post.Mail, existing *store.Run) {
	e := r.location.engine
	p, s := r.location, r.pending
	start := s.start
	start.After = existing.ID
	row, err := record.NewRun(p.Partition, &start)
	if err != nil {
		e.log.ChildNotStarted(start.WorkflowID, r.id, err)
		return
	}
	row.After = existing.ID
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.Lost() || e.residents.all[r.id] != r {
		return // another node owns it
	}
	e.dispatcher.grantLocked(r.seats.Close()) // the next resident has seats of its own
	again := p.newResident(r.id)
	again.create, again.pending = row, &pendingStart{start: start, sequence: s.sequence}
	again.mail = slices.DeleteFunc(slices.Concat(todo, r.mail), func(m post.Mail) bool {
		_, granted := m.Input.(core.Granted) // its slot is freed with the refused resident
		return granted
	})
	r.pending, r.create, r.mail = nil, nil, nil
	e.residents.all[r.id] = again
	again.activate()
}
