package engine

import (
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
)

// route says which run gets what comes for the latest run of a workflow ID, while the
// database does not say it or a look at the inbox may still go by what it said before.
// Messages keep their order that way. None waits in a route.
type route struct {
	partition *partition
	run       string
	stage     routeStage
}

type routeStage int

const (
	starting   routeStage = iota // the run has no row yet
	continuing                   // a turn of the run is in flight that creates the next one
	continued                    // the run has followed another one since the last look began
)

// continues notes that a turn creates the next run of a chain. What comes for that run
// goes behind what waits in the mailbox of this one.
func (e *Engine) continues(r *resident, out *core.Turn) {
	if out.Next == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.routes[out.Next.WorkflowID] = route{r.partition, r.id, continuing}
}

// continued notes that such a turn is durable or refused. The engine's mu is held.
func (e *Engine) continued(r *resident, out *core.Turn) {
	if out.Next == nil {
		return
	}
	if to := e.routes[out.Next.WorkflowID]; to.stage == continuing && to.run == r.id {
		delete(e.routes, out.Next.WorkflowID)
	}
}

// receiver is the run that gets mail for a run. The engine's mu is held.
func (e *Engine) receiver(p *partition, run string, m mail) string {
	if m.latest != "" {
		if to, ok := e.routes[m.latest]; ok && to.partition == p {
			return to.run
		}
	}
	return run
}

// handOn begins the next run of a chain, with the mail for the latest run that the one
// before has left. In a partition that is to leave it waits: for the next owner, or until
// the partition is kept after all. The engine's mu is held.
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
		if next.FirstTurn <= e.horizon {
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

// createFirst makes the row of a run durable that ends with its first turn,
// because a turn creates one run and that is the next.
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

// reroute has messages routed again that came for a run which others followed, and
// returns the rest.
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
