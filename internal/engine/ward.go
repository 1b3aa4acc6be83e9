package engine

import (
	"errors"
	"hash/fnv"
	"slices"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// A run whose code is missing here, or does not fit, moves to another node of the group whose
// code may fit, into a ward of this node's partition (see store.Move). The owner of the
// partition alone decides where, before it takes a step of the run and while no attempt of the
// run is in flight here. A node whose code does not fit either returns the run. Each code is
// tried once. After that the run is held, as if there were no other node.

// wards is what this node knows of wards. It is guarded by the engine's mu.
type wards struct {
	kick    clock.Bell        // a renewal has come; not guarded
	seen    *store.Membership // the last renewal
	of      map[int]bool      // partitions that have wards
	code    []store.Member    // live nodes with their definitions, and others; nil if they must be read
	known   string            // the builds in the group when held runs were last reviewed, or when one was held
	reviews int               // how often held runs were reviewed because other builds had come
}

// errElsewhere reports that another node owns the run.
var errElsewhere = errors.New("the run moved to another node: repeat the request")

func home(place int) int { p, _ := store.SplitPlace(place); return p }
func ward(place int) int { _, w := store.SplitPlace(place); return w }

// homes returns the partitions that hold the rows of runs, sorted and without duplicates. It
// is never nil.
func homes(ps []*partition) []int {
	list := make([]int, len(ps))
	for i, p := range ps {
		list[i] = p.home
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// servesOf reports whether this node serves a partition or a ward of it. The engine's mu is
// held.
func (e *Engine) servesOf(partition int) bool {
	if e.partitions[partition] != nil || !e.wards.of[partition] {
		return e.partitions[partition] != nil
	}
	for _, p := range e.partitions {
		if p.home == partition {
			return true
		}
	}
	return false
}

// sendAway moves a run that cannot continue here to a node where it may, and returns
// errElsewhere. If it returns nil, the run is to be held.
func (e *Engine) sendAway(r *activeRun, past *core.Past, h *hold, todo []mail) error {
	p := r.partition
	detail, err := core.DecodeDetail(past.State.Detail)
	if err != nil || !e.db.Info().Wards {
		return nil
	}
	r.reviews = e.reviews()
	if h.status == core.StatusParked && (h.detail.Mismatch == nil || r.pin != "") { // it fits, or no other code may run it
		h.detail.Tried = detail.Tried
		if code := h.detail.Fingerprint; code != "" && code != e.untilRestart() && !slices.Contains(detail.Tried, code) {
			h.detail.Tried = append(h.detail.Tried, code)
		}
		return nil
	}
	if def := e.defs.workflows[past.Start.Type]; def != nil && r.pin == "" && !slices.Contains(detail.Tried, e.fingerprint(def, "")) {
		detail.Tried = append(detail.Tried, e.fingerprint(def, ""))
	}
	e.noteSuspicion(r, past.State.Status, &detail, h)
	move := store.Move{Partition: p.home, Ward: p.ward, Epoch: p.epoch, Run: r.id, Detail: core.EncodeDetail(detail)}
	to := func() string { return e.fittingNode(past.Start.Type, e.advancedBy(p, past), r.pin, detail.Tried) }
	if p.ward == 0 && to() == "" {
		return nil
	}
	if r.create != nil || e.atWork(r, todo) {
		r.again = true // when its row is there, and nothing of it runs here
		return nil
	}
	moved := func(node string) { e.log.RunMoved(logged(past.Start), e.nameOf(node), h.detail.Reason) }
	return e.giveAway(r, todo, move, to, moved)
}

// giveAway moves a run to a node that to chooses, or home if it is in a ward: errElsewhere
// says that it did, and moved is told of the node's ID. Nil says that there is none.
func (e *Engine) giveAway(r *activeRun, todo []mail, move store.Move, to func() string, moved func(node string)) error {
	p := r.partition
	for range 3 {
		if p.ward == 0 {
			if move.To = to(); move.To == "" {
				return nil
			}
		}
		err := e.insist("moving a run to another node", func() error { return e.db.Move(e.ctx, move) })
		switch {
		case err == nil:
			at := unknown
			if p.ward != 0 {
				at = 0
			}
			moved(move.To)
			e.isElsewhere(r.resident, todo, at)
			return errElsewhere
		case errors.Is(err, store.ErrNoPlace):
			e.forgetCode()
		case errors.Is(err, store.ErrFenced):
			e.lose(p)
			return err
		case errors.Is(err, store.ErrElsewhere), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrClosed):
			e.isElsewhere(r.resident, todo, unknown)
			return errElsewhere
		default:
			return err
		}
	}
	return nil
}

// atWork reports whether attempts that this process began for a run are running, or have ended
// without the run knowing.
func (e *Engine) atWork(r *activeRun, todo []mail) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.attempts.Of(r.id, r.partition.epoch)) > 0 || slices.ContainsFunc(slices.Concat(todo, r.mail), func(m mail) bool {
		return m.input != nil && m.sequence == 0
	})
}

// unknown is the ward of a run if it is not known, because another node may have moved it.
const unknown = -1

// isElsewhere leaves the mail of a run to the node that owns it now, in the ward at. If that
// is this node, too, the mail that is in memory only moves to the resident there. Callers that
// wait here look again.
func (e *Engine) isElsewhere(r *resident, todo []mail, at int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := r.partition
	if e.wards.of == nil {
		e.wards.of = map[int]bool{}
	}
	e.wards.of[p.home] = true
	all := slices.Concat(todo, r.mail, p.inbox.take(untaken(r.id)))
	e.leaveUndelivered(p.home, all)
	r.mail = nil
	to := e.partitions[store.Place(p.home, at)]
	if at == unknown || to == p {
		to = nil
	}
	if to != nil {
		r.poked = false
	}
	e.unload(r) // before callers look again
	if to != nil {
		again := e.resident(to, r.id)
		again.poked = true
		for _, m := range all {
			if _, granted := m.input.(core.Granted); m.sequence == 0 && !granted {
				again.mail = append(again.mail, m)
			}
		}
		e.rouse(again)
		e.kickInbox()
	}
	e.Moved(map[int]bool{p.home: true})
}

// leaveUndelivered lets the next look at the inbox find messages that were delivered to a
// resident in the wrong place of this node. The engine's mu is held.
func (e *Engine) leaveUndelivered(home int, all []mail) {
	messages := sequences(all)
	if len(messages) == 0 {
		return
	}
	for _, q := range e.partitions {
		if q.home == home {
			q.inbox.forget(messages...)
		}
	}
}

// advancedBy returns the ID of the node that last recorded a command of the run's code, "" if
// there is none or it is not known.
func (e *Engine) advancedBy(p *partition, past *core.Past) string {
	for _, t := range slices.Backward(past.Turns) {
		for _, ev := range t.Events {
			if ev.Kind.Command() || ev.Kind == history.CodeAdvanced {
				return e.lineageOf(p).node(t.Epoch)
			}
		}
	}
	return ""
}

// fittingNode returns the ID of a live node of the group with code of the workflow that was
// not tried, "" if there is none. It prefers nodes with the same code as the node last. If pin
// is set, the node must have that build.
func (e *Engine) fittingNode(workflow, last, pin string, tried []string) string {
	return e.nodeFor(workflow, last, workflow+last, func(build, code string) bool {
		if pin != "" {
			return build == pin
		}
		return !slices.Contains(tried, code)
	})
}

// nodeFor returns the ID of a live node of the group that has the workflow and whose build
// and code fit, or "" if there is none. Of several with the code of the node last, else of
// all, key chooses one.
func (e *Engine) nodeFor(workflow, last, key string, fit func(build, code string) bool) string {
	members := e.codeOfNodes()
	fingerprint := func(m *store.Member) string {
		all, err := record.DecodeDefinitions(m.Definitions)
		at := slices.IndexFunc(all.Workflows, func(w record.Workflow) bool { return w.Name == workflow })
		if err != nil || at < 0 {
			return ""
		}
		return record.Fingerprint(all.Workflows[at].Version, m.Build)
	}
	preferred := ""
	for i := range members {
		if members[i].ID == last {
			preferred = fingerprint(&members[i])
		}
	}
	var fits, others []string
	for i := range members {
		m := &members[i]
		code := fingerprint(m)
		if !m.Live || m.Draining || code == "" || !fit(m.Build, code) {
			continue
		}
		if code == preferred {
			fits = append(fits, m.ID)
		} else {
			others = append(others, m.ID)
		}
	}
	for _, ids := range [][]string{fits, others} {
		if len(ids) > 0 {
			slices.Sort(ids)
			sum := fnv.New32a()
			_, _ = sum.Write([]byte(key))
			return ids[int(sum.Sum32()%uint32(len(ids)))]
		}
	}
	return ""
}

// nameOf returns the name of a node to which a run moves.
func (e *Engine) nameOf(id string) string {
	if id == "" {
		return "the owner of its partition"
	}
	for _, m := range e.codeOfNodes() {
		if m.ID == id {
			return m.Name
		}
	}
	return id
}

// codeOfNodes returns the nodes of the group, read once between two renewals; none if they
// cannot be read. If the next renewal shows other builds, held runs are reviewed.
func (e *Engine) codeOfNodes() []store.Member {
	e.mu.Lock()
	known := e.wards.code
	e.mu.Unlock()
	if known != nil {
		return known
	}
	var read []store.Member
	err := e.insist("reading the nodes of the group", func() (err error) {
		read, err = e.db.Nodes(e.ctx)
		return err
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.wards.known = otherBuilds
		return nil
	}
	read = slices.DeleteFunc(read, func(m store.Member) bool { return m.Group != e.config.Group })
	builds := buildsOf(read)
	if e.wards.known != "" && e.wards.known != builds {
		builds = otherBuilds // runs are held for what was known before
	}
	e.wards.code, e.wards.known = read, builds
	return read
}

// otherBuilds stands for builds that could not be read, or of which held runs know different ones:
// the next renewal shows others, whichever it shows.
const otherBuilds = "others"

// buildsOf lists the builds of live nodes to which runs may go.
func buildsOf(nodes []store.Member) (list string) {
	var builds []string
	for _, m := range nodes {
		if m.Live && !m.Draining {
			builds = append(builds, m.Build)
		}
	}
	slices.Sort(builds)
	for _, b := range slices.Compact(builds) {
		list += b + "\n"
	}
	return list
}

func (e *Engine) reviews() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.wards.reviews
}

func (e *Engine) forgetCode() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wards.code = nil
}

// see records the nodes and wards that a renewal shows.
func (e *Engine) see(ms *store.Membership) {
	e.mu.Lock()
	defer e.mu.Unlock()
	seen := *ms
	seen.Owners = slices.Clone(ms.Owners) // the member marks partitions that it gives back as free in ms.Owners
	e.wards.seen, e.wards.code = &seen, nil
	of, fresh := map[int]bool{}, map[int]bool{}
	for _, o := range ms.Owners {
		if p := home(o.Partition); ward(o.Partition) != 0 && !of[p] {
			of[p], fresh[p] = true, !e.wards.of[p]
		}
	}
	e.wards.of = of
	e.Moved(fresh) // callers that relied on hearing of all runs of these partitions here no longer can
	e.wards.kick.Ring()
}

// wardLoop looks after the wards of this node and of its partitions after each renewal.
func (e *Engine) wardLoop() {
	for {
		select {
		case <-e.wards.kick:
		case <-e.ctx.Done():
			return
		}
		e.lookAtWards()
	}
}

func (e *Engine) lookAtWards() {
	e.mu.Lock()
	ms := e.wards.seen
	live, known := map[string]bool{}, buildsOf(ms.Nodes)
	for _, m := range ms.Nodes {
		live[m.ID] = true
	}
	var dead, shared []*partition
	var wards []int
	for _, o := range ms.Owners {
		if ward(o.Partition) == 0 {
			continue
		}
		if p := e.partitions[home(o.Partition)]; p != nil {
			shared = append(shared, p)
			if !live[o.Node] {
				dead, wards = append(dead, p), append(wards, ward(o.Partition))
			}
		}
		if p := e.partitions[o.Partition]; p != nil {
			shared = append(shared, p)
		}
	}
	review := known != e.wards.known && e.wards.known != "" // else the partitions were taken just now
	if e.wards.known = known; review {
		e.wards.reviews++
	}
	all := e.open()
	e.mu.Unlock()
	for i, p := range dead {
		e.dissolve(p, wards[i])
	}
	_ = e.wakeArrived(shared, store.Arrived) // if it fails, the next renewal leads to another try
	if review {
		e.reviewHeld(all)
	}
}

// comesFrom makes the owners be read again if the last turn of a loaded run was made in
// another place whose owner is not known to be gone.
func (e *Engine) comesFrom(p *partition, past *core.Past) {
	n := len(past.Turns)
	if n == 0 || past.Turns[n-1].Epoch == p.epoch {
		return
	}
	last := past.Turns[n-1].Epoch
	e.mu.Lock()
	defer e.mu.Unlock()
	if p.lineage == nil {
		return
	}
	var latest int64 // the latest known epoch of that place; older ones may have been deleted
	for _, o := range p.lineage.owners {
		if store.WardOf(o.Epoch) != store.WardOf(last) {
			continue
		}
		if latest = max(latest, o.Epoch); o.Epoch == last && o.Over {
			return
		}
	}
	if last >= latest {
		p.comings++
	}
}

// dissolve brings the runs of a ward home if its node is gone.
func (e *Engine) dissolve(p *partition, ward int) {
	e.mu.Lock()
	p.coming++
	e.mu.Unlock()
	gone := false
	err := e.insist("bringing the runs of a ward home", func() (err error) { // a lost reply would hide that they are home
		gone, err = e.db.Dissolve(e.ctx, p.home, p.epoch, ward)
		return err
	})
	e.mu.Lock()
	p.coming--
	p.comings++
	e.mu.Unlock()
	if errors.Is(err, store.ErrFenced) {
		e.lose(p)
	}
	if err != nil || !gone {
		return // the next renewal shows the ward again
	}
	if e.insist("reading the runs of a ward", func() error { return e.wakeArrived([]*partition{p}, e.due.Horizon()) }) != nil {
		return // the engine ends
	}
	e.kickInbox()
	e.reviewHeld([]*partition{p})
}

// wakeArrived steps runs that have arrived in places of this node: runs that were moved here,
// and runs of a dissolved ward that want a step before until.
func (e *Engine) wakeArrived(ps []*partition, until int64) error {
	if len(ps) == 0 {
		return nil
	}
	due, err := e.db.Due(e.ctx, numbers(ps), store.Arrived-1, until, 0)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range due {
		p := e.partitions[w.Partition]
		if p == nil || p.leaving {
			continue
		}
		if r := e.residents[w.Run]; r != nil && (r.busy || r.atRest()) {
			r.poked = r.poked || r.busy // it may have been loaded before its rows arrived
			continue
		}
		p.comings++
		if w.Time > store.Hot {
			e.addWake(w.Time, p, w.Run)
			continue
		}
		r := e.resident(p, w.Run)
		r.poked = true
		e.rouse(r)
	}
	return nil
}
