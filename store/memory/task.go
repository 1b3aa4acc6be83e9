package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/perdure/perdure/store"
)

// taskKey identifies the task of a call.
type taskKey struct {
	run    string
	number int64
}

// worker is a worker that has attended, and may have left.
type worker struct {
	store.Worker
	joined, seen int64
}

func (w *worker) expires() int64 { return expires(w.seen, w.Lease) }

func (w *worker) live(now int64) bool { return w != nil && !w.Left && now < w.expires() }

// undisputed reports whether no worker has claimed a task that the turn withdraws, or settled
// one that it gives up.
func (p *partition) undisputed(t *store.Turn) bool {
	has := func(refs []store.TaskRef, so func(*store.Task) bool) bool {
		return slices.ContainsFunc(refs, func(ref store.TaskRef) bool {
			known := p.tasks[taskKey{t.Run, ref.Number}]
			return known != nil && known.Attempt == ref.Attempt && so(known)
		})
	}
	return !has(t.Withdrawn, func(k *store.Task) bool { return k.Worker != "" }) && !has(t.GivenUp, func(k *store.Task) bool { return k.Settled })
}

// applyTasks writes the tasks of a turn.
func (db *Database) applyTasks(p *partition, t *store.Turn, now int64) {
	for _, refs := range [][]store.TaskRef{t.Over, t.GivenUp, t.Withdrawn} {
		for _, ref := range refs {
			if known := p.tasks[taskKey{t.Run, ref.Number}]; known != nil && known.Attempt == ref.Attempt {
				delete(p.tasks, taskKey{t.Run, ref.Number})
			}
		}
	}
	for _, ref := range t.Stopped {
		if known := p.tasks[taskKey{t.Run, ref.Number}]; known != nil && known.Attempt == ref.Attempt {
			known.Stopped = true
		}
	}
	for _, task := range t.Offered {
		key := taskKey{t.Run, task.Number}
		if known := p.tasks[key]; known != nil && (known.Attempt > task.Attempt || known.Attempt == task.Attempt && known.Worker != "") {
			continue
		}
		task.Partition, task.Run = p.id, t.Run
		task.Worker, task.Claimed, task.Settled, task.Stopped = "", 0, false, false
		task.Offered = cmp.Or(task.Offered, now)
		p.tasks[key] = &task
	}
	if t.HasTasks() {
		db.announce(store.NewsTasks)
	}
}

func (h *handle) Attend(ctx context.Context, w store.Worker) (*store.Attendance, error) {
	if err := h.writeChecked(ctx, w.Check()); err != nil {
		return nil, err
	}
	defer h.done()
	db := h.db
	now := db.clock()
	known := db.worker(w.ID)
	if known == nil {
		db.forgetWorkers(now)
		known = &worker{joined: now}
		db.workers = append(db.workers, known)
	}
	changed := known.ID == "" || w.Left && !known.Left
	known.Worker, known.seen = w, now
	db.settleSigns(now)
	answer := &store.Attendance{Now: now}
	for _, p := range db.partitions {
		for _, task := range p.tasks {
			if task.Worker == w.ID && !task.Settled {
				answer.Held = append(answer.Held, store.HeldTask{TaskRef: task.TaskRef, Stopped: task.Stopped})
			}
		}
	}
	slices.SortFunc(answer.Held, func(a, b store.HeldTask) int { return a.Compare(b.TaskRef) })
	if changed {
		db.announce(store.NewsNodes)
	}
	return answer, nil
}

// settleSigns makes signs of life of workers that lie in the future signs of now: see
// store.Foresight.
func (db *Database) settleSigns(now int64) {
	for _, w := range db.workers {
		w.seen = sign(w.seen, now)
	}
}

// worker returns the worker with an ID, nil if it is unknown.
func (db *Database) worker(id string) *worker {
	at := slices.IndexFunc(db.workers, func(w *worker) bool { return w.ID == id })
	if at < 0 {
		return nil
	}
	return db.workers[at]
}

// forgetWorkers drops workers that have been gone for WorkersRemembered.
func (db *Database) forgetWorkers(now int64) {
	db.workers = slices.DeleteFunc(db.workers, func(w *worker) bool {
		return !w.live(now) && now-w.seen > int64(store.WorkersRemembered)
	})
}

func (h *handle) ClaimTasks(ctx context.Context, c store.TaskClaim) ([]store.Task, error) {
	if err := h.writeChecked(ctx, c.Check()); err != nil {
		return nil, err
	}
	defer h.done()
	db := h.db
	now := db.clock()
	w := db.worker(c.Worker)
	if !w.live(now) {
		return nil, nil
	}
	var open []*store.Task
	for _, p := range db.these(c.Partitions.All()) {
		for _, task := range p.tasks {
			if task.Open(max(p.clock, now)) && task.Queue == c.Queue && slices.Contains(c.Names, task.Name) {
				open = append(open, task)
			}
		}
	}
	slices.SortFunc(open, store.CompareTasks)
	var suspect []*store.Task
	if i := slices.IndexFunc(open, func(t *store.Task) bool { return t.Suspect }); i >= 0 && c.Suspects {
		suspect, c.Limit = open[i:i+1:i+1], c.Limit-1
	}
	open = slices.DeleteFunc(slices.Clone(open), func(t *store.Task) bool { return t.Suspect })
	slices.SortStableFunc(open, func(a, b *store.Task) int { return cmp.Compare(a.Key, b.Key) })
	open = append(suspect, store.Take(c.Turns, open, func(t **store.Task) (string, int) { return store.KeyOfTask(*t) })...)
	var claimed []store.Task
	for _, task := range open {
		p := db.partitions[task.Partition]
		task.Worker, task.Claimed = c.Worker, p.tick(now)
		db.deliver(p, task.ClaimedMessage(c.Worker, w.Name))
		claimed = append(claimed, cloneTask(task))
	}
	if len(claimed) > 0 {
		db.announce(store.NewsClaims)
	}
	return claimed, nil
}

func cloneTask(t *store.Task) store.Task {
	task := *t
	task.Data = bytes(task.Data)
	return task
}

func (h *handle) SettleTasks(ctx context.Context, id string, settled []store.SettledTask) ([]error, error) {
	for i := range settled {
		if err := settled[i].Message.Validate(h.db.info); err != nil {
			return nil, err
		}
	}
	if err := h.write(ctx); err != nil {
		return nil, err
	}
	defer h.done()
	db := h.db
	errs := make([]error, len(settled))
	for i, s := range settled {
		p := db.partition(s.Partition)
		if p == nil {
			errs[i] = store.ErrStale
			continue
		}
		task := p.tasks[taskKey{s.Run, s.Number}]
		switch {
		case task == nil || task.Attempt != s.Attempt || task.Worker != id:
			errs[i] = store.ErrStale
		case !task.Settled:
			task.Settled = true
			p.tick(db.clock())
			db.deliver(p, s.Message)
		}
	}
	db.announce(store.NewsMessage)
	return errs, nil
}

func (h *handle) Tasks(ctx context.Context, f store.TaskFilter) ([]store.Task, error) {
	if f.Lost {
		if err := h.write(ctx); err != nil {
			return nil, err
		}
		h.db.settleSigns(h.db.clock())
		h.done()
	}
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	db := h.db
	now := db.clock()
	var tasks []*store.Task
	for _, p := range db.partitions {
		for _, task := range p.tasks {
			if f.Partitions != nil && !slices.Contains(f.Partitions, p.id) || f.Run != "" && task.Run != f.Run {
				continue
			}
			if f.Lost && (task.Worker == "" || task.Settled || db.worker(task.Worker).live(now)) {
				continue
			}
			tasks = append(tasks, task)
		}
	}
	slices.SortFunc(tasks, store.CompareTasks)
	var list []store.Task
	for _, task := range head(tasks, cmp.Or(f.Limit, 100)) {
		list = append(list, cloneTask(task))
	}
	return list, nil
}

func (h *handle) Backlogs(ctx context.Context, partitions []int) ([]store.Backlog, error) {
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	type key struct{ queue, name string }
	sums := map[key]*store.Backlog{}
	for _, p := range h.db.partitions {
		if partitions != nil && !slices.Contains(partitions, p.id) {
			continue
		}
		for _, task := range p.tasks {
			k := key{task.Queue, task.Name}
			b := sums[k]
			if b == nil {
				b = &store.Backlog{Queue: task.Queue, Name: task.Name}
				sums[k] = b
			}
			switch {
			case task.Worker == "":
				b.Waiting++
				if b.Oldest == 0 || task.Offered < b.Oldest {
					b.Oldest = task.Offered
				}
			case !task.Settled:
				b.Running++
			}
		}
	}
	var list []store.Backlog
	for _, b := range sums {
		if b.Waiting+b.Running > 0 {
			list = append(list, *b)
		}
	}
	slices.SortFunc(list, func(a, b store.Backlog) int {
		return cmp.Or(strings.Compare(a.Queue, b.Queue), strings.Compare(a.Name, b.Name))
	})
	return list, nil
}

func (h *handle) Workers(ctx context.Context) ([]store.WorkerState, error) {
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	defer h.db.mu.RUnlock()
	db := h.db
	now := db.clock()
	var list []store.WorkerState
	for _, w := range db.workers {
		s := store.WorkerState{Worker: w.Worker, Joined: w.joined, Seen: w.seen, Expires: w.expires(), Live: w.live(now)}
		s.Serves = bytes(s.Serves)
		for _, p := range db.partitions {
			for _, task := range p.tasks {
				if task.Worker == w.ID && !task.Settled {
					s.Claimed++
				}
			}
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b store.WorkerState) int {
		return cmp.Or(cmp.Compare(a.Joined, b.Joined), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}
