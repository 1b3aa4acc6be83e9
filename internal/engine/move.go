package engine

import (
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/hold"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/report"
	"github.com/perdure/perdure/store"
)

// A run whose code is missing here, or does not fit, moves to another node of the group whose
// code may fit, into a ward of this node's partition (see store.Move). The owner of the
// partition alone decides where, before it takes a step of the run and while no attempt of the
// run is in flight here. A node whose code does not fit either returns the run. Each code is
// tried once. After that the run is held, as if there were no other node.

// errElsewhere reports that another node owns the run.
var errElsewhere = errors.New("the run moved to another node: repeat the request")

// sendAway moves a run that cannot continue here to a node where it may, and returns
// errElsewhere. If it returns nil, the run is to be held.
func (r *activeRun) sendAway(past *core.Past, h *hold.Hold, todo []post.Mail) error {
	e := r.engine
	p := r.location
	detail, err := core.DecodeDetail(past.State.Detail)
	if err != nil || !e.db.Info().Wards {
		return nil
	}
	r.reviews = e.nodes.Reviews()
	if h.Status == core.StatusParked && (h.Detail.Mismatch == nil || r.pin != "") { // it fits, or no other code may run it
		h.Detail.Tried = detail.Tried
		if code := h.Detail.Fingerprint; code != "" && code != e.holds.UntilRestart() && !slices.Contains(detail.Tried, code) {
			h.Detail.Tried = append(h.Detail.Tried, code)
		}
		return nil
	}
	if def := e.registry.Workflow(past.Start.Type); def != nil && r.pin == "" && !slices.Contains(detail.Tried, e.registry.Fingerprint(def, "")) {
		detail.Tried = append(detail.Tried, e.registry.Fingerprint(def, ""))
	}
	if evidence, is := r.location.suspicion.Suspect(r.id); is {
		detail.Suspect = &evidence // it moves with the run
	}
	h.Add(past.State.Status, &detail)
	move := store.Move{Partition: p.Partition, Ward: p.Ward, Epoch: p.Epoch, Run: r.id, Detail: core.EncodeDetail(detail)}
	to := func() string {
		return e.nodes.Fitting(past.Start.Type, p.Lineage.AdvancedBy(past), r.pin, detail.Tried)
	}
	if p.Ward == 0 && to() == "" {
		return nil
	}
	if r.create != nil || r.atWork(todo) {
		r.again = true // when its row is there, and nothing of it runs here
		return nil
	}
	moved := func(node string) { e.log.RunMoved(report.Of(&past.Start), e.nodes.Name(node), h.Detail.Reason) }
	return r.giveAway(todo, move, to, moved)
}

// giveAway moves a run to a node that to chooses, or home if it is in a ward: errElsewhere
// says that it did, and moved is told of the node's ID. Nil says that there is none.
func (r *activeRun) giveAway(todo []post.Mail, move store.Move, to func() string, moved func(node string)) error {
	e := r.engine
	p := r.location
	for range 3 {
		if p.Ward == 0 {
			if move.To = to(); move.To == "" {
				return nil
			}
		}
		err := e.db.reads.Insist(e.life.ctx, "moving a run to another node", func() error { return e.db.Move(e.life.ctx, move) })
		switch {
		case err == nil:
			at := unknown
			if p.Ward != 0 {
				at = 0
			}
			moved(move.To)
			r.isElsewhere(todo, at)
			return errElsewhere
		case errors.Is(err, store.ErrNoPlace):
			e.nodes.Forget()
		case errors.Is(err, store.ErrFenced):
			e.locations.lose(p)
			return err
		case errors.Is(err, store.ErrElsewhere), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrClosed):
			r.isElsewhere(todo, unknown)
			return errElsewhere
		default:
			return err
		}
	}
	return nil
}

// sendToBegin moves a run that has taken no turn to the node where it begins: errElsewhere
// says that it did. Nil says that it begins here.
func (r *activeRun) sendToBegin(past *core.Past, todo []post.Mail) error {
	e := r.engine
	if !e.nodes.Canary() || len(past.Turns) > 0 || r.location.Ward != 0 || r.create != nil || r.atWork(todo) {
		return nil
	}
	detail, err := core.DecodeDetail(past.State.Detail)
	if err != nil {
		return nil
	}
	move := store.Move{Partition: r.location.Partition, Epoch: r.location.Epoch, Run: r.id}
	return r.giveAway(todo, move, func() string { return e.nodes.ToBegin(&past.Start, detail.Tried) }, func(string) {})
}

// atWork reports whether attempts that this process began for a run are running, or have ended
// without the run knowing.
func (r *activeRun) atWork(todo []post.Mail) bool {
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	return r.atWorkLocked(todo)
}

func (r *activeRun) atWorkLocked(todo []post.Mail) bool {
	return len(r.engine.attempts.Of(r.id, r.location.Epoch)) > 0 || slices.ContainsFunc(slices.Concat(todo, r.mail), func(m post.Mail) bool {
		return m.Input != nil && m.Sequence == 0
	})
}

// unknown is the ward of a run if it is not known, because another node may have moved it.
const unknown = -1

// isElsewhere leaves the mail of a run to the node that owns it now, in the ward at. If that
// is this node, too, the mail that is in memory only moves to the resident there. Callers that
// wait here look again.
func (r *resident) isElsewhere(todo []post.Mail, at int) {
	e := r.location.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	p := r.location
	e.nodes.NoteWards(p.Partition)
	all := slices.Concat(todo, r.mail, p.box.TakeDeferred(r.id))
	e.inbox.office.ForgetAt(p.Partition, post.Sequences(all)) // so that the next look finds them
	r.mail = nil
	to := e.locations.At(store.Place(p.Partition, at))
	if at == unknown || to == p {
		to = nil
	}
	if to != nil {
		r.poked = false
	}
	r.evict() // before callers look again
	if to != nil {
		again := to.resident(r.id)
		again.poked = true
		for _, m := range all {
			if _, granted := m.Input.(core.Granted); m.Sequence == 0 && !granted {
				again.mail = append(again.mail, m)
			}
		}
		again.activate()
		e.inbox.Kick()
	}
	e.Moved(map[int]bool{p.Partition: true})
}

// watchWards looks after the wards of this node and of its partitions after each renewal.
func (l *locations) watchWards() {
	for {
		select {
		case <-l.engine.nodes.Bell:
		case <-l.engine.life.ctx.Done():
			return
		}
		l.lookAtWards()
	}
}

// lookAtWards brings the runs of wards home whose nodes are gone, and wakes those that have arrived.
func (l *locations) lookAtWards() {
	ms, review := l.engine.nodes.Seen()
	all := l.Open()
	shared, orphans := l.Wards(ms)
	for _, o := range orphans {
		o.Of.dissolve(o.Ward)
	}
	_ = l.wakeArrived(shared, store.Arrived) // if it fails, the next renewal leads to another try
	if review {
		l.reviewHeld(all)
	}
}

// dissolve brings the runs of a ward home if its node is gone.
func (p *location) dissolve(ward int) {
	e := p.engine
	gone, err := false, error(nil)
	p.Lineage.Bring(func() {
		err = e.db.reads.Insist(e.life.ctx, "bringing the runs of a ward home", func() (err error) { // a lost reply would hide that they are home
			gone, err = e.db.Dissolve(e.life.ctx, p.Partition, p.Epoch, ward)
			return err
		})
	})
	if errors.Is(err, store.ErrFenced) {
		e.locations.lose(p)
	}
	if err != nil || !gone {
		return // the next renewal shows the ward again
	}
	if e.locations.wakeMissed([]*location{p}) != nil {
		return // the engine ends
	}
	e.inbox.Kick()
	e.locations.reviewHeld([]*location{p})
}

// wakeMissed wakes the runs that want a step soon of places in which no scan has seen them. It
// returns an error only if the engine ends.
func (l *locations) wakeMissed(ps []*location) error {
	e := l.engine
	return e.db.reads.Insist(e.life.ctx, "reading the runs of a ward", func() error { return l.wakeArrived(ps, e.dispatcher.due.Horizon()) })
}

// wakeArrived steps runs that have arrived in places of this node: runs that were moved here,
// and runs of a dissolved ward that want a step before until.
func (l *locations) wakeArrived(ps []*location, until int64) error {
	e := l.engine
	if len(ps) == 0 {
		return nil
	}
	due, err := e.db.Due(e.life.ctx, placement.Numbers(ps), store.Arrived-1, until, 0)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range due {
		p := l.At(w.Partition)
		if p == nil {
			continue
		}
		if p.Closed() { // its next owner finds them, or this node does if it keeps the place; see Reopen
			p.missed = true
			continue
		}
		if r := e.residents.all[w.Run]; r != nil && (r.busy || r.atRest()) {
			r.poked = r.poked || r.busy // it may have been loaded before its rows arrived
			continue
		}
		p.Lineage.Arrived()
		if w.Time > store.Hot {
			e.dispatcher.addWake(w.Time, p, w.Run)
			continue
		}
		r := p.resident(w.Run)
		r.poked = true
		r.activate()
	}
	return nil
}
