package engine

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// route says which run gets messages for the latest run of a workflow ID. It exists while the
// database does not say so yet, or while a look at the inbox may still rely on an older row.
// Routes keep such messages in order. No message waits in a route.
type route struct {
	partition *partition
	run       string
	stage     routeStage
}

type routeStage int

const (
	starting   routeStage = iota // the run has no row yet
	continuing                   // a turn of the run that creates the next run is in flight
	continued                    // the run has followed another one, and the look at the inbox began before that
)

// continues records that a turn creates the next run of a chain. Until the turn is durable,
// messages for that run are appended to the mailbox of this one.
func (e *Engine) continues(r *resident, out *core.Turn) {
	if out.Next == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.routes[out.Next.WorkflowID] = route{r.partition, r.id, continuing}
}

// continued records that such a turn is durable or refused. The engine's mu is held.
func (e *Engine) continued(r *resident, out *core.Turn) {
	if out.Next == nil {
		return
	}
	if to := e.routes[out.Next.WorkflowID]; to.stage == continuing && to.run == r.id {
		delete(e.routes, out.Next.WorkflowID)
	}
}

// receiver returns the run that gets mail addressed to run. The engine's mu is held.
func (e *Engine) receiver(p *partition, run string, m mail) string {
	if m.latest != "" {
		if to, ok := e.routes[m.latest]; ok && to.partition == p {
			return to.run
		}
	}
	return run
}

// handOn starts the next run of a chain with the mail for the latest run that its predecessor
// has left. In a partition that is being handed over the next run waits for the new owner, or
// until the handover is abandoned. The engine's mu is held.
func (e *Engine) handOn(r *resident, next *history.Start) {
	var left, own []mail
	for _, m := range r.mail {
		if m.latest != "" {
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
	e.routes[next.WorkflowID] = route{p, next.Run, continued}
	if len(left) == 0 && next.FirstTurn > e.clock.Now() {
		if next.FirstTurn <= e.due.Horizon() {
			e.addWake(next.FirstTurn, p, next.Run)
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

// createFirst writes the row of a run that ends with its first turn. It needs a commit of its
// own: a turn creates at most one run, and this one creates the successor.
func (e *Engine) createFirst(r *activeRun, out *core.Turn) error {
	if r.create == nil || out.Next == nil {
		return nil
	}
	p := r.partition
	messages, err := e.announcement(r.resident)
	if err != nil {
		return err
	}
	t := store.Turn{Partition: p.home, Ward: p.ward, Epoch: p.epoch, Run: r.id, Create: r.create, Messages: messages}
	if err = e.committer.Commit(t); err == nil {
		e.settled(r.resident, &t)
	}
	return err
}

// reroute routes those messages again that are for the latest run of a chain, because this run
// has successors. It returns the rest.
func (e *Engine) reroute(r *resident, todo []mail) (rest []mail) {
	var again []mail
	for _, m := range todo {
		if m.latest != "" {
			again = append(again, m)
		} else {
			rest = append(rest, m)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.routeAgain(r.partition, again)
	return rest
}
