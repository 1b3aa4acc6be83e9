package copying

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/store"
)

// places knows the groups of two databases.
type places struct {
	from []store.Group
	to   map[string]store.Group
}

// group returns the group of the target that has the rows of a partition of the source.
func (p *places) group(partition int) (store.Group, error) {
	for _, g := range p.from {
		if g.Has(partition) {
			return p.to[g.Name], nil
		}
	}
	return store.Group{}, fmt.Errorf("partition %d belongs to no group of nodes: the source is damaged; perdure doctor says more", partition)
}

// move makes rows of the source those of the target, and returns how many books stay behind.
func (p *places) move(rows *store.Rows) (left int, err error) {
	left = leaveBehind(rows)
	for i := range rows.Runs {
		w := &rows.Runs[i]
		g, known := p.to[w.Run.Group]
		if !known {
			return 0, fmt.Errorf("run %q belongs to the group of nodes %q, which the source does not have: it is damaged; perdure doctor says more", w.Run.ID, w.Run.Group)
		}
		placeRun(g, w)
	}
	for i := range rows.Messages {
		m := &rows.Messages[i]
		g, err := p.group(m.Partition)
		if err != nil {
			return 0, err
		}
		m.Partition, m.Sequence = entity.Place(g, m.WorkflowID), 0
	}
	if rows.Tallies, err = p.addUp(rows.Tallies); err != nil {
		return 0, err
	}
	return left, nil
}

// leaveBehind takes out the rows about processes of the source, and counts them.
func leaveBehind(rows *store.Rows) int {
	whole := len(rows.Runs)
	rows.Runs = slices.DeleteFunc(rows.Runs, func(w store.WholeRun) bool { return entity.KindOf(w.Run.ID) == entity.Book })
	return whole - len(rows.Runs)
}

// placeRun makes a run one of a group, which it does not know yet.
func placeRun(g store.Group, w *store.WholeRun) {
	r := &w.Run
	r.Partition, r.Group, r.Ward = entity.Place(g, r.WorkflowID), g.Name, 0
	if r.Wake == store.Arrived {
		r.Wake = store.Hot
	}
	for i := range w.Turns {
		w.Turns[i].Epoch = store.CopiedEpoch
	}
	for i := range w.Calls {
		w.Calls[i].Partition, w.Calls[i].Run = r.Partition, r.ID
		if s := w.Calls[i].State; r.Status.Open() && (s == store.Dispatched || s == store.Remote) {
			r.Wake = store.Hot
		}
	}
	for i := range w.Attempts {
		w.Attempts[i].Partition, w.Attempts[i].Run = r.Partition, r.ID
	}
	for i := range w.Tasks {
		w.Tasks[i].Partition, w.Tasks[i].Run = r.Partition, r.ID
	}
}

// addUp makes one row of those counters that get one place. All go into the first partition of
// their group: counters are only read for whole groups.
func (p *places) addUp(all []store.Tally) (_ []store.Tally, err error) {
	return store.AddUp(store.Keyed(all, func(t *store.Tally) store.TallyKey {
		key := t.TallyKey
		g, unknown := p.group(t.Partition)
		key.Partition, err = g.First, cmp.Or(err, unknown)
		return key
	})), err
}
