package engine

import (
	"context"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// chains is how the runs of a chain follow each other here: a message for a
// workflow ID reaches the run that is the latest when it is delivered, and those
// messages keep their order. It is guarded by the engine's mu.
type chains struct {
	// coming are runs that a turn in flight creates, with the residents of those
	// runs: what comes for them goes behind what waits in the mailbox there.
	coming map[string]*resident
	// heirs are the runs that followed others, for a look at the inbox that found
	// the one and delivers when the other has begun.
	heirs map[string]string
	// births are the first runs of chains that other runs start, by workflow ID: as
	// long as their rows are not in the database, only this says who gets messages
	// for the ID.
	births map[string]*resident
}

func newChains() chains {
	return chains{coming: map[string]*resident{}, heirs: map[string]string{}, births: map[string]*resident{}}
}

// expect notes that a turn in flight creates the next run of a chain.
func (e *Engine) expect(r *resident, out *core.Turn) {
	if out.Next == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.chains.coming[out.Next.Run] = r
}

// expected notes that the turn is durable or refused. The engine's mu is held.
func (e *Engine) expected(out *core.Turn) {
	if out.Next != nil {
		delete(e.chains.coming, out.Next.Run)
	}
}

// receiver is the run that mail for a run goes to, and the mailbox where it waits
// if that run is about to be created. The engine's mu is held.
func (e *Engine) receiver(run string, m mail) (string, *resident) {
	if !m.latest {
		return run, nil
	}
	for next, gone := e.chains.heirs[run]; gone; next, gone = e.chains.heirs[run] {
		run = next
	}
	return run, e.chains.coming[run]
}

// lookedThrough forgets what only a look at the inbox needs that is over.
func (e *Engine) lookedThrough() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.chains.heirs)
}

// handOn begins the next run of a chain, with the mail that the one before has
// left. In a partition that is to leave it waits: for the next owner, or until the
// partition is kept after all. The engine's mu is held.
func (e *Engine) handOn(r *resident, next *history.Start) {
	var left, own []mail
	for _, m := range r.mail {
		if m.latest {
			left = append(left, m)
		} else {
			own = append(own, m)
		}
	}
	r.mail = own
	p := r.partition
	if e.phase != running || e.partitions[p.number] != p {
		return // all of it is durable
	}
	e.chains.heirs[r.id] = next.Run
	if len(left) == 0 && next.FirstTurn > e.clock.Now() {
		if next.FirstTurn <= e.horizon {
			e.addWake(next.FirstTurn, &resident{partition: p, id: next.Run})
		}
		return
	}
	n := e.resident(p, next.Run)
	n.mail = append(n.mail, left...)
	n.poked = true
	if !p.leaving {
		e.rouse(n)
	}
}

// createFirst makes the row of a run durable that ends with its first turn,
// because a turn creates one run and that is the next.
func (e *Engine) createFirst(r *resident, out *core.Turn) error {
	if r.create == nil || out.Next == nil {
		return nil
	}
	p := r.partition
	messages, err := e.announcement(r)
	if err == nil {
		err = e.committer.Commit(store.Turn{Partition: p.number, Epoch: p.epoch, Run: r.id, Create: r.create, Messages: messages})
	}
	if err == nil {
		e.settled(r, nil)
	}
	return err
}

// reroute gives messages back that came for a run that others followed. They are
// found in the inbox again.
func (e *Engine) reroute(r *resident, todo []mail) (rest []mail) {
	var letters []letter
	for _, m := range todo {
		if m.latest {
			letters = append(letters, letter{r.partition, m.sequence})
		} else {
			rest = append(rest, m)
		}
	}
	if len(letters) > 0 {
		e.forget(letters)
		e.kickInbox()
	}
	return rest
}

// following is the run to wait for after one that was continued: the latest of
// its chain, if the database tells, else the next.
func (e *Engine) following(ctx context.Context, row *store.Run) (string, error) {
	latest, err := e.db.Find(ctx, row.Partition, row.WorkflowID, "")
	if err == nil && latest.Chain == row.Chain && latest.ID != row.ID {
		return latest.ID, nil
	}
	return nextOf(record.State(row.RunState))
}

// nextOf is the run that follows one that was continued.
func nextOf(s core.State) (string, error) {
	d, err := core.DecodeDetail(s.Detail)
	return d.Next, err
}

// firstOf is the first run of the chain that a run belongs to.
func firstOf(ctx context.Context, in runs, row *store.Run) (*store.Run, error) {
	if row.ID == row.Chain {
		return row, nil
	}
	return in.Find(ctx, row.Partition, row.WorkflowID, row.Chain)
}
