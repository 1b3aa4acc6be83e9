package engine

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// A run that starts another one says so with its turn, in a message to the partition
// of the new run. Its owner makes that run durable in the transaction of the first
// turn, which consumes the message; so there is exactly one run for it, whoever dies.
// What the run comes to is a message back, in the turn that closes it.

// birth is the start of a run by another one. It is guarded as resident.create is.
type birth struct {
	start    history.Start
	sequence int64 // of the message in the inbox
	// rivals are later messages that start runs under the same workflow ID: they are
	// routed again when it is known whether this one has it.
	rivals []letter
}

func (b *birth) past() *record.Past {
	return &record.Past{Start: b.start, State: core.State{Status: core.StatusRunning, Wake: max(core.Hot, b.start.FirstTurn)}}
}

// routeStart begins a run that another one starts. What comes for its workflow ID
// from here on is its own.
func (e *Engine) routeStart(m store.Message, also *partition) {
	p := e.claimLetter(m, also)
	if p == nil {
		return
	}
	start, err := history.DecodeStart(m.Data)
	if err == nil && (start.Parent == nil || start.WorkflowID != m.WorkflowID || start.Run != m.Run) {
		err = fmt.Errorf("its start event is that of run %q of workflow %q, with the parent %+v", start.Run, start.WorkflowID, start.Parent)
	}
	var row *store.Run
	if err == nil {
		row, err = record.NewRun(p.number, &start)
	}
	if err != nil {
		e.log.Error("perdure: a run that another one starts cannot begin; the message is left in the inbox", "workflow", m.WorkflowID, "run", m.Run, "error", err)
		e.mu.Lock()
		defer e.mu.Unlock()
		p.expectBirth(m.WorkflowID, m.Run)
		return
	}
	if start.Scheduled != nil && e.alreadyFired(p, m) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.partitions[p.number] != p {
		return // another node has it
	}
	if first := e.chains.births[start.WorkflowID]; first != nil && first.id != start.Run {
		first.birth.rivals = append(first.birth.rivals, letter{p, m.Sequence})
		p.expectBirth(start.WorkflowID, start.Run)
		return
	}
	e.begins(p, start.WorkflowID, start.Run)
	if e.residents[start.Run] == nil { // else it was loaded, and so it exists
		r := e.resident(p, start.Run)
		r.create, r.birth = row, &birth{start: start, sequence: m.Sequence}
		e.chains.births[start.WorkflowID] = r
	}
	e.deliverLocked(p, start.Run, mail{sequence: m.Sequence})
}

// deliverToBirth delivers a message for the latest run of a workflow ID if that run is
// not in the database yet.
func (e *Engine) deliverToBirth(p *partition, m store.Message, in core.Input) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.chains.births[m.WorkflowID]
	if r == nil {
		return false
	}
	e.deliverLocked(p, r.id, mail{input: in, sequence: m.Sequence, latest: true})
	return true
}

// born notes that the row of a run is durable. The engine's mu is held.
func (e *Engine) born(r *resident) {
	e.forgetBirth(r)
	r.create, r.birth = nil, nil
}

// forgetBirth lets messages for the workflow ID of a run be routed by what is in the
// database. The engine's mu is held.
func (e *Engine) forgetBirth(r *resident) {
	b := r.birth
	if b == nil || e.chains.births[b.start.WorkflowID] != r {
		return
	}
	delete(e.chains.births, b.start.WorkflowID)
	for _, rival := range b.rivals {
		delete(rival.partition.pending, rival.sequence)
	}
	if len(b.rivals) > 0 {
		e.kickInbox()
	}
}

// announcement tells a parent that only waits for that that the run exists. It is part
// of the turn that makes it so.
func (e *Engine) announcement(r *resident) ([]store.Message, error) {
	if r.birth == nil || !r.birth.start.Parent.Detached {
		return nil, nil
	}
	m, err := message.ToParent(e.group, r.birth.start.Parent, core.FromChild{Status: core.ChildStarted, Run: r.id})
	return []store.Message{m}, err
}

// stillborn answers the parent of a run whose workflow ID was taken. What came for the
// ID meanwhile is that other run's, and found in the inbox again; what came for the run
// itself is for nobody.
func (e *Engine) stillborn(r *resident, todo []mail, existing *store.Run) {
	b := r.birth
	if b == nil {
		return // somebody waits for the answer
	}
	answer, err := message.ToParent(e.group, b.start.Parent, core.FromChild{Status: core.ChildIDInUse, Run: existing.ID, Note: string(existing.Status)})
	if err != nil {
		e.log.Error("perdure: the parent of a run whose workflow ID is taken cannot be told", "run", r.id, "error", err)
		return
	}
	e.mu.Lock()
	e.born(r)
	var letters []letter
	own := []mail{{sequence: b.sequence}}
	for _, m := range slices.Concat(todo, r.mail) {
		if m.latest {
			letters = append(letters, letter{r.partition, m.sequence})
		} else if m.sequence != b.sequence {
			own = append(own, m)
		}
	}
	r.mail = nil
	e.mu.Unlock()
	e.forget(letters)
	e.kickInbox()
	t := store.Turn{
		Partition: r.partition.number, Epoch: r.partition.epoch, Run: r.id,
		Consumed: sequences(own), Messages: []store.Message{answer}, Repeatable: true,
	}
	if e.committer.Commit(t) == nil {
		e.settled(r, t.Consumed)
		e.sent(&t)
	}
}

// parkedBirth makes a run that cannot even take its first turn, parked.
func (e *Engine) parkedBirth(r *resident, state store.RunState) store.Turn {
	row := *r.create
	row.RunState = state
	messages, err := e.announcement(r)
	if err != nil {
		e.log.Error("perdure: the parent of a run cannot be told that it exists", "run", r.id, "error", err)
	}
	return store.Turn{
		Partition: r.partition.number, Epoch: r.partition.epoch, Run: r.id,
		Create: &row, Consumed: []int64{r.birth.sequence}, Messages: messages,
	}
}
