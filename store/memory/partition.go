package memory

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/perdure/perdure/store"
)

// partition holds the data of one partition.
type partition struct {
	place
	clock   int64 // highest time a write has seen
	tenures []*tenure
	wards   []*place
	runs    map[string]*run
	latest  map[string]*run // by workflow ID
	wakes   ordered[store.Wake]
	inbox   []store.Message // by sequence
	waiting map[messageKey]struct{}
	tallies map[store.TallyKey]*store.Tally
	tasks   map[taskKey]*store.Task
}

type messageKey struct{ workflow, key string }

// run is a run with everything that belongs to it. Each list is in the order of reads.
type run struct {
	row      store.Run // without its attributes
	has      []store.Attribute
	turns    []store.TurnRow
	calls    []store.Call
	attempts []store.Attempt
}

func newPartition(id int) *partition {
	p := &partition{
		place:   place{id: id},
		runs:    map[string]*run{},
		latest:  map[string]*run{},
		waiting: map[messageKey]struct{}{},
		tallies: map[store.TallyKey]*store.Tally{},
		tasks:   map[taskKey]*store.Task{},
	}
	p.wakes.compare = func(a, b store.Wake) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Run, b.Run))
	}
	return p
}

// tick advances the partition's clock, which never goes back.
func (p *partition) tick(now int64) int64 {
	p.clock = max(p.clock, now)
	return p.clock
}

// placeable returns nil if a new run may be inserted; exists reports that it exists already.
// The check uses the state that the creating turn gives its own run, if any, because that turn
// may close the run that the new one follows.
func (p *partition) placeable(row *store.Run, creator string, state *store.RunState) (exists bool, err error) {
	if known, ok := p.runs[row.ID]; ok {
		if known.row.WorkflowID != row.WorkflowID {
			return false, fmt.Errorf("run %q exists already, for workflow ID %q", row.ID, known.row.WorkflowID)
		}
		return true, nil
	}
	latest, ok := p.latest[row.WorkflowID]
	if !ok {
		return false, nil
	}
	status := latest.row.Status
	if state != nil && latest.row.ID == creator {
		status = state.Status
	}
	if row.MayFollow(&latest.row) && !status.Open() {
		return false, nil // the chain continues, or another one begins
	}
	return false, &store.ConflictError{Existing: latest.copy()}
}

// insert adds a run, which becomes the latest of its workflow ID.
func (db *Database) insert(p *partition, row store.Run) {
	if before := p.latest[row.WorkflowID]; before != nil {
		if before.row.ID == row.After {
			p.leave(row.WorkflowID, row.After)
		}
		before.row.Latest = false
	}
	r := &run{row: row, has: store.SortAttributes(row.Attributes)}
	r.turns = db.past(row.Base)
	r.row.After, r.row.Attributes, r.row.Base, r.row.Latest = "", nil, nil, true
	p.runs[row.ID] = r
	p.latest[row.WorkflowID] = r
	p.setWake(row.ID, store.Never, row.Wake)
	db.runs.insert(runKey{row.ID, p.id})
}

func (p *partition) setState(r *run, state store.RunState) {
	p.setWake(r.row.ID, r.row.Wake, state.Wake)
	r.row.RunState = state
	if !state.Status.Open() {
		r.row.Ward = 0
	}
}

func (p *partition) setWake(id string, before, after int64) {
	if before != store.Never {
		p.wakes.remove(store.Wake{Partition: p.id, Run: id, Time: before})
	}
	if after != store.Never {
		p.wakes.insert(store.Wake{Partition: p.id, Run: id, Time: after})
	}
}

// deliver appends a message unless one with its key waits. With Replace it replaces that.
func (db *Database) deliver(p *partition, m store.Message) {
	key := messageKey{m.WorkflowID, m.Key}
	if _, ok := p.waiting[key]; ok {
		if !m.Replace {
			return
		}
		p.consume(p.inbox[slices.IndexFunc(p.inbox, func(w store.Message) bool { return w.WorkflowID == m.WorkflowID && w.Key == m.Key })].Sequence)
	}
	m.Replace, m.IfRoom, m.Ordered = false, false, false
	db.sequence++
	m.Sequence = db.sequence
	m.Posted = p.clock
	p.waiting[key] = struct{}{}
	p.inbox = append(p.inbox, m)
}

// leave leaves messages for the latest run of a workflow ID to run, which is no longer the
// latest. It frees their keys for the new latest run.
func (p *partition) leave(workflow, run string) {
	for i := range p.inbox {
		if m := &p.inbox[i]; m.WorkflowID == workflow && m.Run == "" {
			delete(p.waiting, messageKey{workflow, m.Key})
			m.Run, m.Key = run, store.LeftKey(run, m.Key)
			p.waiting[messageKey{workflow, m.Key}] = struct{}{}
		}
	}
}

func (p *partition) findMessage(sequence int64) (int, bool) {
	return slices.BinarySearchFunc(p.inbox, sequence, func(m store.Message, s int64) int { return cmp.Compare(m.Sequence, s) })
}

func (p *partition) consume(sequence int64) {
	at, found := p.findMessage(sequence)
	if !found {
		return
	}
	m := p.inbox[at]
	delete(p.waiting, messageKey{m.WorkflowID, m.Key})
	if at == 0 { // the usual case: the oldest message
		p.inbox[0] = store.Message{}
		p.inbox = p.inbox[1:]
		return
	}
	p.inbox = slices.Delete(p.inbox, at, at+1)
}

func (r *run) findTurn(number int64) (int, bool) {
	return slices.BinarySearchFunc(r.turns, number, func(t store.TurnRow, n int64) int { return cmp.Compare(t.Number, n) })
}

func (r *run) findCall(number int64) (int, bool) {
	return slices.BinarySearchFunc(r.calls, number, func(c store.Call, n int64) int { return cmp.Compare(c.Number, n) })
}

// bytes copies a value that leaves the store, because the receiver may change it. It returns
// nil for an empty value.
func bytes(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return slices.Clone(b)
}

// ownBytes gives rows that leave the store bytes of their own. data says where a row has them.
func ownBytes[T any](rows []T, data func(*T) *[]byte) []T {
	for i := range rows {
		d := data(&rows[i])
		*d = bytes(*d)
	}
	return rows
}

func dataOfMessage(m *store.Message) *[]byte { return &m.Data }

func copyTurns(turns []store.TurnRow) []store.TurnRow {
	return ownBytes(slices.Clone(turns), func(t *store.TurnRow) *[]byte { return &t.Events })
}

func copyCalls(calls []store.Call) []store.Call {
	return ownBytes(slices.Clone(calls), func(c *store.Call) *[]byte { return &c.Data })
}

// copy returns the run's row as it leaves the store.
func (r *run) copy() store.Run {
	row := r.row
	row.Start, row.Detail, row.Attributes = bytes(row.Start), bytes(row.Detail), slices.Clone(r.has)
	return row
}
