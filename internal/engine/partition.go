package engine

import (
	"context"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/suspicion"
	"github.com/perdure/perdure/store"
)

// partition is a partition, or a ward of one, that this node owns. Its fields below node are
// guarded by the engine's mu.
type partition struct {
	engine *Engine

	number int // of its place; see store.Place
	home   int // the partition that holds the rows of its runs
	ward   int // of home; 0: the home itself
	epoch  int64
	node   string // the node ID under which this process owns it

	lineage placement.Lineage
	leaving bool // it is being handed over; nothing new starts in it
	active  int  // residents with a turn in progress, and running attempts
	box     *post.Box

	suspicion *suspicion.Place
}

// served returns the partitions that this node serves. The engine's mu is held.
func (e *Engine) served() []*partition {
	all := make([]*partition, 0, len(e.partitions))
	for _, p := range e.partitions {
		all = append(all, p)
	}
	return all
}

// open returns the partitions that this node looks after: those it serves and is not handing
// over. The engine's mu is held.
func (e *Engine) open() []*partition {
	return slices.DeleteFunc(e.served(), func(p *partition) bool { return p.leaving })
}

// numbers returns the places of partitions as the store names them, sorted. It is never nil,
// because to the store nil means all.
func numbers(ps []*partition) []int {
	list := make([]int, len(ps))
	for i, p := range ps {
		list[i] = p.number
	}
	slices.Sort(list)
	return list
}

// tenure returns the partition as attempts and waiting calls record it.
func (p *partition) tenure() dispatch.Tenure {
	return dispatch.Tenure{Partition: p.number, Epoch: p.epoch}
}

func tenures(ps []*partition) []dispatch.Tenure {
	list := make([]dispatch.Tenure, len(ps))
	for i, p := range ps {
		list[i] = p.tenure()
	}
	return list
}

// owns returns the partition if this node serves it and is not handing it over.
func (e *Engine) owns(number int) *partition {
	if e.phase != running && e.phase != draining {
		return nil
	}
	p := e.partitions[number]
	if p == nil || p.leaving {
		return nil
	}
	return p
}

// learnLineage reads the owners of a partition, once, and again when runs have arrived from
// other places.
func (p *partition) learnLineage() error {
	e := p.engine
	known, comings := p.lineage.Known()
	if known {
		return nil
	}
	var owners []store.Ownership
	err := e.reads.Insist(e.ctx, "reading the owners of a partition", func() (err error) {
		owners, err = e.db.Owners(e.ctx, p.home)
		return err
	})
	if err != nil {
		return err
	}
	p.lineage.Learn(placement.NewOwners(owners), comings)
	return nil
}

// takeover is the work that the previous owners of partitions left.
type takeover struct {
	partitions []*partition
	horizon    int64
	wakes      []store.Wake // runs with work in flight, and runs due up to the horizon
}

// takeFirst claims the node's share when it starts.
func (e *Engine) takeFirst(ctx context.Context) (*takeover, error) {
	node, owned, err := e.member.TakeShare(ctx)
	if err != nil {
		return nil, err
	}
	t := e.takeOver(node, owned)
	return t, e.readWakes(ctx, t)
}

// backOut undoes a start that failed.
func (e *Engine) backOut(ctx context.Context) error {
	e.mu.Lock()
	clear(e.partitions)
	e.recovery.lane.Free()
	e.recovery = recovery{}
	e.mu.Unlock()
	return e.member.BackOut(ctx)
}

// takeOver adds partitions to those that this node serves, and returns what has to be
// recovered of their runs.
func (e *Engine) takeOver(node string, owned []store.Ownership) *takeover {
	t := &takeover{}
	if len(owned) == 0 {
		return t
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range owned {
		p := &partition{engine: e, number: o.Partition, home: placement.Home(o.Partition), ward: placement.Ward(o.Partition), epoch: o.Epoch, node: node, box: e.office.Open(o.Partition)}
		p.locate()
		e.partitions[o.Partition] = p
		t.partitions = append(t.partitions, p)
	}
	e.moved(t.partitions)
	e.closeLane()
	t.horizon = e.dispatcher.due.Horizon() // from here on scans read these partitions, too, beyond the horizon
	return t
}

// readWakes reads which runs of taken partitions want a step.
func (e *Engine) readWakes(ctx context.Context, t *takeover) (err error) {
	if len(t.partitions) > 0 {
		t.wakes, err = e.db.Due(ctx, numbers(t.partitions), store.Arrived-1, t.horizon, 0)
	}
	return err
}

// recovery resumes runs that had work in flight.
//
// The probation lane stays closed until each of them has taken a step. Only then is it known
// which calls belong there and which of them was charged least often and goes first. Otherwise
// a process that is killed repeatedly, for whatever reason, would charge the run that it
// happens to load first.
//
// A starting node also holds its regular slots back for a moment, so that waiting calls get
// them by priority and not in the order in which their runs are loaded.
type recovery struct {
	open     int            // parts that are not finished
	runs     int            // that had work in flight
	lost     int            // lost attempts of the runs that have taken a step
	hot      []hotRun       // runs that had work in flight and are not loaded yet
	lane     *dispatch.Slot // keeps the probation lane closed
	patience *time.Timer    // ends the holding back of slots; nil if none are held back
}

// maxKeptBack limits how long slots are held back: a run that is slow to load must not hold up
// the others.
const maxKeptBack = time.Second

// keepSlotsBack holds regular slots back until it is known which calls wait for one. The
// engine's mu is held.
func (e *Engine) keepSlotsBack() {
	if e.recovery.open == 0 {
		return
	}
	e.dispatcher.slots.KeepBack()
	e.recovery.patience = time.AfterFunc(maxKeptBack, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.letSlotsGo()
	})
}

// letSlotsGo grants the slots that were held back. The engine's mu is held.
func (e *Engine) letSlotsGo() {
	if e.recovery.patience == nil {
		return
	}
	e.recovery.patience.Stop()
	e.recovery.patience = nil
	e.dispatcher.grant(e.dispatcher.slots.LetGo())
}

// closeLane records that one more part of recovery begins; the first closes the probation
// lane. The engine's mu is held.
func (e *Engine) closeLane() {
	if e.recovery.open == 0 {
		e.recovery.lane = e.dispatcher.slots.Take(dispatch.Probation)
	}
	e.recovery.open++
}

// recover resumes what the previous owners left: runs with work in flight, runs that are due,
// messages, and runs that were held because no code fitted.
func (e *Engine) recover(t *takeover) {
	if len(t.partitions) == 0 {
		return
	}
	e.mu.Lock()
	for _, w := range t.wakes {
		p := e.partitions[w.Partition]
		switch {
		case p == nil || !slices.Contains(t.partitions, p): // it was lost again
		case w.Time > store.Hot:
			e.dispatcher.addWake(w.Time, p, w.Run)
		default:
			e.recovery.open++
			e.recovery.runs++
			e.recovery.hot = append(e.recovery.hot, hotRun{p, w.Run})
		}
	}
	e.recoverNext()
	e.recovered()
	e.dispatcher.line.News()
	e.mu.Unlock()
	e.dispatcher.due.Bell.Ring()
	e.inbox.kick()
	e.work.Go(func() { e.reviewHeld(t.partitions) })
}

// hotRun is a run that had work in flight and is not loaded yet.
type hotRun struct {
	partition *partition
	run       string
}

// recoverNext loads as many runs that had work in flight as MaxAtWork allows. The engine's mu
// is held.
func (e *Engine) recoverNext() {
	for len(e.recovery.hot) > 0 && e.busy < e.config.MaxAtWork {
		next := e.recovery.hot[0]
		if e.recovery.hot = e.recovery.hot[1:]; len(e.recovery.hot) == 0 {
			e.recovery.hot = nil
		}
		if e.partitions[next.partition.number] != next.partition {
			e.recovered()
			continue
		}
		r := next.partition.resident(next.run)
		if r.recovering {
			e.recovered()
		}
		r.recovering, r.poked = true, true
		r.rouse()
	}
}

// recovered records that a part of recovery is done. The last one opens the probation lane.
// The engine's mu is held.
func (e *Engine) recovered() {
	if e.recovery.open--; e.recovery.open > 0 {
		return
	}
	e.dispatcher.grant(e.recovery.lane.Free())
	e.recovery.lane = nil
	e.letSlotsGo()
	if e.recovery.runs > 0 {
		e.log.Recovered(e.recovery.runs, e.recovery.lost)
	}
	e.recovery.runs, e.recovery.lost = 0, 0
}

// reviewHeld loads runs that are parked or wait for code if their code may fit now.
func (e *Engine) reviewHeld(ps []*partition) {
	filter := store.Filter{Partitions: homes(ps), Status: []store.Status{store.Parked, store.WaitingForCode}, Limit: 500}
	for {
		var held []store.Run
		err := e.reads.Persist(e.ctx, "reviewing parked runs", func() (err error) {
			held, err = e.db.List(e.ctx, filter)
			return err
		})
		if err != nil {
			return
		}
		for _, r := range held {
			if e.worthTrying(r) {
				e.tryAgain(store.Place(r.Partition, r.Ward), r.ID)
			}
			filter.Before = r.ID
		}
		if len(held) < filter.Limit {
			return
		}
	}
}

// lose drops partitions that another node took over and cancels their attempts, whose results
// no longer count.
func (e *Engine) lose(ps ...*partition) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.loseLocked(ps)
}

func (e *Engine) loseLocked(ps []*partition) {
	ps = slices.DeleteFunc(ps, func(p *partition) bool { return e.partitions[p.number] != p })
	if len(ps) == 0 {
		return
	}
	e.drop(ps)
	e.log.PartitionsLost(numbers(ps), ps[0].node)
	e.attempts.Abandon(tenures(ps), store.ErrFenced)
	e.member.Kick()
}

// drop forgets partitions and evicts their runs. The engine's mu is held.
func (e *Engine) drop(ps []*partition) {
	gone := setOf(ps)
	for _, p := range ps {
		e.dispatcher.unserved.Drop(p.tenure())
		if e.partitions[p.number] == p {
			delete(e.partitions, p.number)
		}
		p.suspicion.Close()
		p.box.Close()
	}
	e.dispatcher.grant(e.dispatcher.slots.Drop(tenures(ps)))
	for _, r := range e.residents {
		if gone[r.partition] {
			r.unload()
		}
	}
	e.letBack()
	e.moved(ps)
}

// moved makes requests that depend on the owner of the partitions look again.
func (e *Engine) moved(ps []*partition) {
	places := make(map[int]bool, len(ps))
	for _, p := range ps {
		places[p.home] = true
	}
	e.Moved(places)
}

func setOf(ps []*partition) map[*partition]bool {
	set := make(map[*partition]bool, len(ps))
	for _, p := range ps {
		set[p] = true
	}
	return set
}
