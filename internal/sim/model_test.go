package sim

import (
	"errors"

	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/storetest"
)

// model says in short what owners, turns and messages are, and what may happen to them (P4). It
// sees every verb that writes, in the order in which they take effect, with the answer; and it
// complains about each that it would not allow. It knows nothing of how engines and stores do
// what they do.
//
//   - A place (a partition, or a ward of one) has at most one owner, under an epoch that only
//     grows. It changes hands when its owner gives it up, leaves or is replaced, or when its
//     lease has run out.
//   - A turn takes effect only under the epoch of the place where its run is. The turns of a run
//     are numbered without gaps, and end with the one that closes it; a new run of a workflow ID
//     comes when the one before is closed.
//   - A call is opened, makes attempts whose numbers never fall, and is closed once.
//   - A message is consumed once, by the run that it is for.
//   - Of the runs of a key no more have begun, and not ended, than may.
//   - Behind a gate, and at the workers of a queue, there are never more attempts than the limit; and
//     while the breaker of a run key is open, no attempt of that key is let in.
type model struct {
	world    *world
	members  map[string]*membership
	places   map[int]*holding
	runs     map[string]*life
	latest   map[string]string // run IDs by workflow ID
	consumed map[int64]string  // by sequence number: which turn
	tasks    map[store.TaskRef]string
	inside   map[callKey]bool // attempts behind the gate
	fuses    *fuses
	perKey   int               // how many runs of a key may run; 0 for any
	begun    map[string]string // those that count and have begun, with their keys
}

// membership is what the model knows of a node.
type membership struct {
	name    string
	lease   int64
	seen    int64
	over    bool
	renewed int64
}

// holding is who holds a place.
type holding struct {
	node  string // "" if nobody does
	epoch int64
	ever  int64 // the last epoch under which it was claimed
}

// life is what the model knows of a run or a standing entity.
type life struct {
	workflowID string
	partition  int
	turns      int64
	closed     bool
	key        string // under which it counts, "" for none
	ward       int
	rows       storetest.CallRows
	calls      map[int64]*callState
}

type callState struct {
	attempt int
	state   store.CallState
}

type callKey struct {
	run  string
	call int64
}

func newModel(w *world) *model {
	return &model{
		world: w, members: map[string]*membership{}, places: map[int]*holding{}, runs: map[string]*life{}, latest: map[string]string{},
		consumed: map[int64]string{}, tasks: map[store.TaskRef]string{}, inside: map[callKey]bool{}, fuses: newFuses(),
		perKey: w.perKey(), begun: map[string]string{},
	}
}

func (m *model) wrong(format string, args ...any) { m.world.complain("model: "+format, args...) }

func (m *model) place(at int) *holding {
	p := m.places[at]
	if p == nil {
		p = &holding{}
		m.places[at] = p
	}
	return p
}

// lives reports whether a node's lease has not run out. The database's clock may have been set
// back: then a sign of life from the future counts as one of now.
func (m *model) lives(node string) bool {
	k := m.members[node]
	return k != nil && !k.over && m.world.clock() < k.seen+k.lease
}

func (m *model) join(node *store.Node, err error) {
	k := m.members[node.ID]
	switch {
	case err != nil:
		if errors.Is(err, store.ErrReplaced) && (k == nil || !k.over) {
			m.wrong("node %s may not join, and has not left", node.ID)
		}
	case k != nil:
	default:
		for id, other := range m.members {
			if node.Supersede && other.name == node.Name && !other.over {
				m.over(id)
			}
		}
		m.members[node.ID] = &membership{name: node.Name, lease: int64(node.Lease), seen: m.world.clock()}
	}
}

// over ends a membership: what the node held is free.
func (m *model) over(node string) {
	if k := m.members[node]; k != nil {
		k.over = true
	}
	for _, p := range m.places {
		if p.node == node {
			p.node = ""
		}
	}
}

func (m *model) renew(r *store.Renewal, seen *store.Membership, err error) {
	k, now := m.members[r.Node], m.world.clock()
	for _, other := range m.members { // the clock was set back; who was replaced shows that, too
		if other.seen > now+int64(store.Foresight) {
			other.seen = now
		}
	}
	if err != nil {
		if errors.Is(err, store.ErrReplaced) && k != nil && !k.over && (k.renewed == r.Last || k.renewed == r.Next) {
			m.wrong("node %s is told that it was replaced", r.Node)
		}
		return
	}
	if k == nil || k.over {
		m.wrong("node %s renews the lease that it has not", r.Node)
		return
	}
	k.seen, k.renewed = now, r.Next
	for _, o := range seen.Owners {
		if p := m.place(o.Partition); o.Node != p.node || o.Epoch != p.epoch {
			m.wrong("place %d is said to belong to %s at %d: it belongs to %s at %d", o.Partition, o.Node, o.Epoch, p.node, p.epoch)
		}
	}
}

func (m *model) leave(node string, err error) {
	if err == nil {
		m.over(node)
	}
}

func (m *model) claim(node string, got []store.Ownership, err error) {
	k := m.members[node]
	if err == nil && (k == nil || k.over) {
		m.wrong("node %s claims, and is not a member", node)
	}
	for _, o := range got {
		p := m.place(o.Partition)
		if p.node != "" && p.node != node && m.lives(p.node) {
			m.wrong("place %d is taken from %s, whose lease has not run out", o.Partition, p.node)
		}
		if o.Epoch <= p.epoch {
			m.wrong("place %d has epoch %d after %d", o.Partition, o.Epoch, p.epoch)
		}
		p.node, p.epoch, p.ever = node, o.Epoch, o.Epoch
	}
}

func (m *model) release(node string, places []int, err error) {
	for _, at := range places {
		if p := m.place(at); err == nil && p.node == node {
			p.node = ""
		}
	}
}

func (m *model) move(move *store.Move, err error) {
	if err != nil {
		return
	}
	if p := m.place(store.Place(move.Partition, move.Ward)); p.node == "" || p.epoch != move.Epoch {
		m.wrong("run %s moves at epoch %d of a place at %d", move.Run, move.Epoch, p.epoch)
	}
	r := m.runs[move.Run]
	if r == nil || r.closed {
		m.wrong("run %s moves, and is not open", move.Run)
		return
	}
	r.ward = 0
	if move.To == "" {
		return
	}
	// Which ward that is, and its epoch, is the store's affair.
	db, _ := m.world.database().Open(m.world.t.Context())
	defer db.Close()
	row, err := db.Find(m.world.t.Context(), move.Partition, r.workflowID, move.Run)
	if err != nil || row.Ward == 0 {
		m.wrong("run %s has moved to %s, and is in ward %v, %v", move.Run, move.To, row, err)
		return
	}
	r.ward = row.Ward
	if p := m.place(store.Place(move.Partition, r.ward)); p.node == "" {
		p.node, p.epoch = move.To, store.WardEpoch(r.ward, p.ever)
	} else if p.node != move.To {
		m.wrong("run %s has moved to %s, and the ward belongs to %s", move.Run, move.To, p.node)
	}
}

func (m *model) dissolve(partition int, epoch int64, ward int, gone bool, err error) {
	if err != nil || !gone {
		return
	}
	if p := m.place(partition); p.node == "" || p.epoch != epoch {
		m.wrong("a ward of partition %d is dissolved at epoch %d of %d", partition, epoch, p.epoch)
	}
	if p := m.place(store.Place(partition, ward)); p.node != "" && m.lives(p.node) {
		m.wrong("ward %d of partition %d is dissolved, and %s lives", ward, partition, p.node)
	} else {
		p.node = ""
	}
	for _, r := range m.runs {
		if r.ward == ward && r.partition == partition {
			r.ward = 0
		}
	}
}

func (m *model) create(run *store.Run, err error) {
	if err == nil {
		m.begin(run, 0, "")
		return
	}
	if taken, is := errors.AsType[*store.ConflictError](err); is && m.latest[run.WorkflowID] != taken.Existing.ID {
		m.wrong("workflow ID %s is said to belong to %s, and belongs to %s", run.WorkflowID, taken.Existing.ID, m.latest[run.WorkflowID])
	}
}

// begin lets a run begin, unless it exists. closing is the run that ends in the same turn.
func (m *model) begin(run *store.Run, ward int, closing string) {
	if m.runs[run.ID] != nil {
		return
	}
	if before := m.latest[run.WorkflowID]; before != "" {
		if old := m.runs[before]; old != nil && !old.closed && before != closing {
			m.wrong("run %s of %s begins, and %s is open", run.ID, run.WorkflowID, before)
		}
	}
	r := &life{workflowID: run.WorkflowID, partition: run.Partition, ward: ward, rows: storetest.CallRows{}, calls: map[int64]*callState{}, closed: !run.Status.Open(), key: m.countedAs(run, closing)}
	if key, is := m.begun[closing]; is {
		m.begun[run.ID] = key
	}
	if run.Base != nil {
		r.turns = run.Base.Turns + 1
	}
	m.runs[run.ID] = r
	m.latest[run.WorkflowID] = run.ID
}

func (m *model) turn(t *store.Turn, err error) {
	if err != nil {
		return
	}
	r := m.runs[t.Run]
	if r != nil && t.Number > 0 && t.Number <= r.turns {
		return // it was durable before
	}
	if p := m.place(t.Place()); p.node == "" || p.epoch != t.Epoch {
		if t.Number == 0 {
			return // durable before, perhaps: such a turn is refused or changes nothing
		}
		m.wrong("I4: turn %d of %s is durable under epoch %d, which is %d", t.Number, t.Run, t.Epoch, p.epoch)
	}
	if t.Create != nil {
		closing := ""
		if t.State != nil && !t.State.Status.Open() {
			closing = t.Run
		}
		m.begin(t.Create, t.Ward, closing)
		if known := m.runs[t.Run]; r == nil && known != nil {
			r, known.closed = known, false // its first turn may be its last
			defer func() { r.closed = !t.Create.Status.Open() || r.closed }()
		}
	}
	if r != nil {
		m.advance(r, t)
	}
	for _, sequence := range t.Consumed {
		by := t.Run
		if before, is := m.consumed[sequence]; is && before != by && t.Number > 0 {
			m.wrong("message %d is consumed by %s and by %s", sequence, before, by)
		}
		m.consumed[sequence] = by
	}
}

// advance applies a turn to its run.
func (m *model) advance(r *life, t *store.Turn) {
	if !r.closed && r.ward != t.Ward {
		m.wrong("turn %d of %s is of ward %d, and the run is in %d", t.Number, t.Run, t.Ward, r.ward)
	}
	if t.Number > 0 {
		if r.closed {
			m.wrong("I1: turn %d of %s comes after its end", t.Number, t.Run)
		}
		if t.Number != r.turns+1 {
			m.wrong("I2: turn %d of %s follows turn %d", t.Number, t.Run, r.turns)
		}
		r.turns = t.Number
	}
	if t.State != nil {
		if r.closed && t.State.Status.Open() {
			m.wrong("I1: run %s is open again", t.Run)
		}
		if r.closed = !t.State.Status.Open(); r.closed {
			r.ward = 0
		}
	}
	m.crowd(r, t)
	m.fuse(t)
	said, gone := r.rows.Take(t)
	for _, number := range gone {
		delete(r.calls, number)
		delete(m.inside, callKey{t.Run, number})
	}
	for i := range said {
		m.call(r, t.Run, &said[i])
	}
	if r.closed {
		for number := range r.calls {
			delete(m.inside, callKey{t.Run, number})
		}
	}
	if t.Remove && entity.KindOf(t.Run) != entity.Run {
		delete(m.runs, t.Run)
		delete(m.latest, r.workflowID)
	}
}

func (m *model) call(r *life, run string, c *store.Call) {
	was := r.calls[c.Number]
	if was != nil && c.Attempt < was.attempt && !c.State.OfEntity() {
		m.wrong("I3: call %d of %s is at attempt %d after %d", c.Number, run, c.Attempt, was.attempt)
	}
	r.calls[c.Number] = &callState{c.Attempt, c.State}
	if c.Name != gatedCall.Name() {
		return
	}
	key := callKey{run, c.Number}
	if delete(m.inside, key); c.State == store.Dispatched || c.State == store.External {
		m.inside[key] = true
	}
	if len(m.inside) > narrowness {
		m.wrong("%d attempts are behind a gate of %d", len(m.inside), narrowness)
	}
}

// grab notes who has claimed tasks.
func (m *model) grab(worker string, got []store.Task) {
	for i := range got {
		ref := got[i].TaskRef
		if by := m.tasks[ref]; by != "" {
			m.wrong("task %+v is claimed by %s and by %s", ref, by, worker)
		}
		m.tasks[ref] = worker
	}
}

func (m *model) settle(worker string, settled []store.SettledTask, errs []error) {
	for i := range errs {
		if by := m.tasks[settled[i].TaskRef]; errs[i] == nil && by != worker {
			m.wrong("task %+v of %s is settled by %s", settled[i].TaskRef, by, worker)
		}
	}
}

// forget notes that runs were deleted. Only those that have ended can be.
func (m *model) forget(runs []string, err error) {
	for _, id := range runs {
		r := m.runs[id]
		if err != nil || r == nil || !r.closed {
			continue
		}
		delete(m.runs, id)
		if m.latest[r.workflowID] == id {
			m.wrong("run %s is deleted, which is the last of %s", id, r.workflowID)
		}
	}
}

// knows reports whether a run is there.
func (m *model) knows(run string) bool {
	m.world.writing.Lock()
	defer m.world.writing.Unlock()
	return m.runs[run] != nil
}

// ended reports whether the latest run of a workflow ID has ended.
func (m *model) ended(id string) bool {
	m.world.writing.Lock()
	defer m.world.writing.Unlock()
	r := m.runs[m.latest[id]]
	return r != nil && r.closed
}

// tickets is how many calls stand at gates, or rest there.
func (m *model) tickets() (n int) {
	m.world.writing.Lock()
	defer m.world.writing.Unlock()
	for id, r := range m.runs {
		if entity.KindOf(id) != entity.Gate {
			continue
		}
		for _, c := range r.calls {
			if c.state != store.Noted && c.state != store.GateShare && c.state != store.GateTripped {
				n++
			}
		}
	}
	return n
}
