package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

func (h *handle) Due(ctx context.Context, ids []int, after, until int64, limit int) ([]store.Wake, error) {
	partitions, wards, err := h.readPlaces(ctx, ids)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	if after >= until || after >= store.Never-1 {
		return nil, nil
	}
	var due []store.Wake
	for i, p := range partitions {
		due = p.due(wards[i], due, after, until, limit)
	}
	slices.SortStableFunc(due, func(a, b store.Wake) int { return cmp.Compare(a.Time, b.Time) })
	return cutWakes(due, limit), nil
}

func (h *handle) Line(ctx context.Context, read store.LineRead) ([]store.LineRun, error) {
	partitions, wards, err := h.readPlaces(ctx, read.Partitions)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	var line []store.LineRun
	for i, p := range partitions {
		var all []store.LineRun
		for w := range p.wakes.ascend(store.Wake{Time: store.InLineByKey}) {
			if w.Time != store.InLineByKey {
				break
			}
			if r := &p.runs[w.Run].row; r.Ward == wards[i] {
				all = append(all, store.LineRun{Partition: store.Place(p.id, r.Ward), Run: r.ID, Key: r.Key, Weight: r.Weight, Priority: r.Priority, Created: r.Created})
			}
		}
		slices.SortFunc(all, func(a, b store.LineRun) int { return store.CompareLineRuns(&a, &b) })
		line = append(line, store.Take(store.Turns{From: read.From, Limit: read.Share()}, all, store.KeyOfLineRun)...)
	}
	return line, nil
}

// due appends the runs of one place that may be among those that Due returns.
func (p *partition) due(ward int, list []store.Wake, after, until int64, limit int) []store.Wake {
	own := len(list)
	for w := range p.wakes.ascend(store.Wake{Time: after + 1}) {
		if w.Time > until || limit > 0 && len(list)-own >= limit && list[len(list)-1].Time != w.Time {
			break
		}
		if p.runs[w.Run].row.Ward == ward {
			w.Partition = store.Place(p.id, ward)
			list = append(list, w)
		}
	}
	return list
}

// cutWakes cuts a list after limit, but not between runs with the same wake time.
func cutWakes(due []store.Wake, limit int) []store.Wake {
	if limit <= 0 || len(due) <= limit {
		return due
	}
	end := limit
	for end < len(due) && due[end].Time == due[limit-1].Time {
		end++
	}
	return due[:end]
}

func (h *handle) Inbox(ctx context.Context, ids []int, read store.InboxRead) ([]store.Message, error) {
	partitions, wards, err := h.readPlaces(ctx, ids)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	var messages []store.Message
	for i, p := range partitions {
		from, found := p.findMessage(read.After)
		if found {
			from++
		}
		mail := p.mail(p.inbox[from:], wards[i])
		if read.Of == nil {
			messages = append(messages, head(mail, read.Limit)...)
			continue
		}
		for k := range mail {
			if slices.Contains(read.Of, mail[k].WorkflowID) {
				messages = append(messages, mail[k])
			}
		}
	}
	slices.SortFunc(messages, func(a, b store.Message) int { return cmp.Compare(a.Sequence, b.Sequence) })
	return ownBytes(head(messages, read.Limit), dataOfMessage), nil
}

func (h *handle) Load(ctx context.Context, id int, run string) (*store.Record, error) {
	p, err := h.readPartition(ctx, id)
	if err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	r, ok := p.runs[run]
	if !ok {
		return nil, store.ErrNotFound
	}
	return &store.Record{Run: r.copy(), Turns: copyTurns(r.turns), Calls: copyCalls(r.calls)}, nil
}

// head returns the first limit elements, all of them if limit is 0.
func head[T any](list []T, limit int) []T {
	if limit > 0 && len(list) > limit {
		return list[:limit]
	}
	return list
}
