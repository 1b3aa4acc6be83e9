package memory

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"

	"github.com/perdure/perdure/store"
)

func (h *handle) Find(ctx context.Context, id int, workflowID, runID string) (*store.Run, error) {
	p, err := h.readPartition(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	r := p.latest[workflowID]
	if runID != "" {
		r = p.runs[runID]
	}
	if r == nil {
		return nil, store.ErrNotFound
	}
	row := r.copy()
	return &row, nil
}

func (h *handle) Ended(ctx context.Context, runs []store.RunRef) ([]store.Run, error) {
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	var ended []store.Run
	for _, ref := range runs {
		if ref.Partition < 0 || ref.Partition >= len(h.db.partitions) {
			continue
		}
		if r := h.db.partitions[ref.Partition].runs[ref.Run]; r != nil && !r.row.Status.Open() {
			ended = append(ended, r.copy())
		}
	}
	return ended, nil
}

func (h *handle) List(ctx context.Context, filter store.Filter) ([]store.Run, error) {
	if _, err := h.readPartitions(ctx, filter.Partitions); err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	limit := store.Page(filter.Limit)
	var runs []store.Run
	for key := range h.db.runs.descend() {
		if len(runs) == limit {
			break
		}
		if filter.Partitions != nil && !slices.Contains(filter.Partitions, key.partition) {
			continue
		}
		if r := h.db.partitions[key.partition].runs[key.id]; selects(&filter, r) {
			runs = append(runs, r.copy())
		}
	}
	return runs, nil
}

func (h *handle) Floor(ctx context.Context, partitions []int, before string, each int) (string, error) {
	if _, err := h.readPartitions(ctx, partitions); err != nil {
		return "", err
	}
	defer h.db.mu.RUnlock()
	seen := map[int]int{}
	for key := range h.db.runs.descend() {
		if before != "" && key.id >= before || partitions != nil && !slices.Contains(partitions, key.partition) {
			continue
		}
		if seen[key.partition]++; seen[key.partition] >= each {
			return key.id, nil
		}
	}
	return "", nil
}

// hasAll reports whether a run has all of some attributes.
func (r *run) hasAll(attributes []store.Attribute) bool {
	return !slices.ContainsFunc(attributes, func(a store.Attribute) bool { return !slices.Contains(r.has, a) })
}

func selects(f *store.Filter, r *run) bool {
	return r.hasAll(f.Attributes) &&
		(f.Before == "" || r.row.ID < f.Before) &&
		(f.Above == "" || r.row.ID > f.Above) &&
		f.SelectsTime(r.row.Created) &&
		(f.Type == "" || r.row.Type == f.Type) &&
		strings.HasPrefix(r.row.WorkflowID, f.IDPrefix) &&
		(len(f.Status) == 0 && r.row.Status != store.Standing || slices.Contains(f.Status, r.row.Status)) &&
		(f.ErrorType == "" || r.suffers(f.ErrorType)) &&
		(f.Call == "" || slices.ContainsFunc(r.calls, func(c store.Call) bool { return c.State == f.Call }))
}

// run returns the data of a run, empty if the run does not exist. Unless there is an error,
// the caller must call db.mu.RUnlock.
func (h *handle) run(ctx context.Context, id int, runID string) (*run, error) {
	p, err := h.readPartition(ctx, id)
	if err != nil {
		return nil, err
	}
	if r, ok := p.runs[runID]; ok {
		return r, nil
	}
	return &run{}, nil
}

func (h *handle) History(ctx context.Context, id int, runID string, after int64, limit int) ([]store.TurnRow, error) {
	r, err := h.run(ctx, id, runID)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	from := sort.Search(len(r.turns), func(i int) bool { return r.turns[i].Number > after })
	return copyTurns(head(r.turns[from:], limit)), nil
}

func (h *handle) Calls(ctx context.Context, id int, runID string) ([]store.Call, error) {
	r, err := h.run(ctx, id, runID)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	return copyCalls(r.calls), nil
}

func (h *handle) Waiting(ctx context.Context, filter store.CallFilter) ([]store.WaitingCall, error) {
	partitions, err := h.readPartitions(ctx, filter.Partitions)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	filter.Limit = store.Page(filter.Limit)
	var waiting []store.WaitingCall
	for _, p := range partitions {
		for _, r := range p.runs {
			for _, c := range r.calls {
				if c.State == filter.State {
					waiting = append(waiting, store.WaitingCall{Call: c, WorkflowID: r.row.WorkflowID, Type: r.row.Type, Key: r.row.Key})
				}
			}
		}
	}
	slices.SortFunc(waiting, func(a, b store.WaitingCall) int { return cmp.Compare(a.Due, b.Due) })
	return ownBytes(head(waiting, filter.Limit), func(w *store.WaitingCall) *[]byte { return &w.Data }), nil
}

func (h *handle) Counts(ctx context.Context, ids []int, most int) (store.Counts, error) {
	counts := store.Counts{Runs: map[store.Status]int{}, Calls: map[store.CallState]int{}}
	partitions, err := h.readPartitions(ctx, ids)
	if err != nil {
		return counts, err
	}
	defer h.db.mu.RUnlock()
	for _, p := range partitions {
		for _, r := range p.runs {
			if r.row.Status == store.Standing {
				continue
			}
			counts.Runs[r.row.Status]++
			if r.row.Ward != 0 {
				counts.Away++
			}
			for _, c := range r.calls {
				counts.Calls[c.State] += c.Calls()
				if c.State == store.Backoff && c.Due > 0 && (counts.NextRetry == 0 || c.Due < counts.NextRetry) {
					counts.NextRetry = c.Due
				}
			}
		}
	}
	counts.Bound(most)
	return counts, nil
}
