package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"slices"

	"github.com/perdure/perdure/store"
)

// list passes several values as one argument, for json_each.
func list[T any](values []T) driver.Value {
	data, _ := json.Marshal(values) // numbers and strings: cannot fail
	return string(data)
}

// applyTasks writes the tasks of a turn.
func (b *batch) applyTasks(t *store.Turn) error {
	b.offered = true
	for _, stays := range []struct {
		refs []store.TaskRef
		when string
	}{{t.Withdrawn, `worker <> ''`}, {t.GivenUp, `settled = 1`}} {
		for _, ref := range stays.refs {
			found, err := b.c.one(`SELECT 1 FROM tasks WHERE partition = ? AND run = ? AND number = ? AND attempt = ? AND `+stays.when, nil,
				int64(t.Partition), t.Run, ref.Number, int64(ref.Attempt))
			if err == nil && found {
				err = store.ErrClaimed
			}
			if err != nil {
				return err
			}
		}
	}
	for _, refs := range [][]store.TaskRef{t.Over, t.GivenUp, t.Withdrawn} {
		for _, ref := range refs {
			if _, err := b.c.exec(`DELETE FROM tasks WHERE partition = ? AND run = ? AND number = ? AND attempt = ?`,
				int64(t.Partition), t.Run, ref.Number, int64(ref.Attempt)); err != nil {
				return err
			}
		}
	}
	for _, ref := range t.Stopped {
		if _, err := b.c.exec(`UPDATE tasks SET stopped = 1 WHERE partition = ? AND run = ? AND number = ? AND attempt = ?`,
			int64(t.Partition), t.Run, ref.Number, int64(ref.Attempt)); err != nil {
			return err
		}
	}
	for i := range t.Offered {
		o := &t.Offered[i]
		_, err := b.c.exec(`INSERT INTO tasks (partition, run, number, attempt, workflow_id, queue, name, run_key, weight, priority, suspect, offered, latest, data)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (partition, run, number) DO UPDATE SET attempt = excluded.attempt,
			workflow_id = excluded.workflow_id, queue = excluded.queue, name = excluded.name, run_key = excluded.run_key, weight = excluded.weight, priority = excluded.priority, suspect = excluded.suspect,
			offered = excluded.offered, latest = excluded.latest, data = excluded.data, worker = '', claimed = 0, settled = 0, stopped = 0
			WHERE tasks.attempt < excluded.attempt OR tasks.attempt = excluded.attempt AND tasks.worker = ''`,
			int64(t.Partition), t.Run, o.Number, int64(o.Attempt), o.WorkflowID, o.Queue, o.Name, o.Key, int64(o.Weight), int64(o.Priority), flag(o.Suspect),
			cmp.Or(o.Offered, b.now), o.Latest, payload(o.Data))
		if err != nil {
			return err
		}
	}
	return nil
}

func (h *handle) Attend(ctx context.Context, w store.Worker) (*store.Attendance, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	var answer *store.Attendance
	changed := false
	err := h.write(ctx, "Attend", func(c *conn) error {
		now := h.clock()
		answer = &store.Attendance{Now: now}
		known, err := c.exec(`UPDATE workers SET seen = ?, draining = ?, serves = ?, departed = ? WHERE id = ?`,
			now, flag(w.Draining), payload(w.Serves), flag(w.Left), w.ID)
		if err != nil {
			return err
		}
		if changed = known == 0 || w.Left; known == 0 {
			if _, err := c.exec(`DELETE FROM workers WHERE seen + lease < ?`, now-int64(store.WorkersRemembered)); err != nil {
				return err
			}
			if _, err := c.exec(`INSERT INTO workers (id, name, node_group, lease, serves, draining, departed, joined, seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
				w.ID, w.Name, w.Group, int64(w.Lease), payload(w.Serves), flag(w.Draining), flag(w.Left), now, now); err != nil {
				return err
			}
		}
		if err := settleSigns(c, now); err != nil {
			return err
		}
		answer.Held, err = collect(ctx, c, func(r row) (t store.HeldTask) {
			r.scan(&t.Partition, &t.Run, &t.Number, &t.Attempt, &t.Stopped)
			return t
		}, `SELECT partition, run, number, attempt, stopped FROM tasks WHERE worker = ? AND worker <> '' AND settled = 0 ORDER BY partition, run, number`, w.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	if changed {
		announce(h.path, store.NewsNodes)
	}
	return answer, nil
}

// settleSigns makes signs of life of workers that lie in the future signs of now: see
// store.Foresight.
func settleSigns(c *conn, now int64) error {
	_, err := c.exec(`UPDATE workers SET seen = ? WHERE seen > ?`, now, now+int64(store.Foresight))
	return err
}

// settleSigns is called before lost tasks are read. It writes only if the clock was set back.
func (h *handle) settleSigns(ctx context.Context) error {
	early := false
	err := h.read(ctx, "Tasks", func(c *conn) error {
		return c.query(ctx, `SELECT 1 FROM workers WHERE seen > ? LIMIT 1`, func(row) error {
			early = true
			return nil
		}, h.clock()+int64(store.Foresight))
	})
	if err != nil || !early {
		return err
	}
	return h.write(ctx, "Tasks", func(c *conn) error { return settleSigns(c, h.clock()) })
}

// taskColumns are the columns that scanTask reads.
const taskColumns = `partition, run, number, attempt, workflow_id, queue, name, priority, suspect, offered, worker, claimed, settled, data, stopped, latest, run_key, weight`

func scanTask(r row) (t store.Task) {
	r.scan(&t.Partition, &t.Run, &t.Number, &t.Attempt, &t.WorkflowID, &t.Queue, &t.Name, &t.Priority, &t.Suspect,
		&t.Offered, &t.Worker, &t.Claimed, &t.Settled, &t.Data, &t.Stopped, &t.Latest, &t.Key, &t.Weight)
	return t
}

// inTurn is the order in which tasks run.
const inTurn = `priority DESC, offered, partition, run, number`

func (h *handle) ClaimTasks(ctx context.Context, claim store.TaskClaim) ([]store.Task, error) {
	if err := claim.Check(); err != nil {
		return nil, err
	}
	claimed, err := written(ctx, h, "ClaimTasks", func(c *conn) ([]store.Task, error) { return h.claimTasks(ctx, c, &claim) })
	if len(claimed) > 0 {
		announce(h.path, store.NewsClaims)
	}
	return claimed, err
}

func (h *handle) claimTasks(ctx context.Context, c *conn, claim *store.TaskClaim) ([]store.Task, error) {
	now := h.clock()
	live, name := false, ""
	err := c.query(ctx, `SELECT name FROM workers WHERE id = ? AND departed = 0 AND seen > ? - lease`, func(r row) error {
		live, name = true, r.text(0)
		return nil
	}, claim.Worker, now)
	if err != nil || !live {
		return nil, err
	}
	open, err := h.openTasks(ctx, c, claim, now)
	if err != nil {
		return nil, err
	}
	for i := range open {
		t := &open[i]
		m := t.ClaimedMessage(claim.Worker, name)
		if err := c.post(&m, h.marks.clock(t.Partition, now)); err != nil {
			return nil, err
		}
		t.Worker, t.Claimed = claim.Worker, h.marks.clock(t.Partition, now)
		if _, err := c.exec(`UPDATE tasks SET worker = ?, claimed = ? WHERE partition = ? AND run = ? AND number = ?`,
			t.Worker, t.Claimed, int64(t.Partition), t.Run, t.Number); err != nil {
			return nil, err
		}
	}
	return open, nil
}

// openTasks returns the tasks that a claim gets.
func (h *handle) openTasks(ctx context.Context, c *conn, claim *store.TaskClaim, now int64) ([]store.Task, error) {
	read := func(where, order string, limit int, suspect bool, key string) ([]store.Task, error) {
		some, err := collect(ctx, c, scanTask, `SELECT `+taskColumns+` FROM tasks WHERE queue = ? AND worker = '' AND suspect = ? AND run_key `+where+` ? AND (latest = 0 OR latest > ?)
			AND partition >= ? AND partition < ? AND name IN (SELECT value FROM json_each(?)) ORDER BY `+order+inTurn+` LIMIT ?`,
			claim.Queue, flag(suspect), key, now, int64(claim.Partitions.First), int64(claim.Partitions.First+claim.Partitions.Partitions), list(claim.Names), int64(limit))
		return slices.DeleteFunc(some, func(t store.Task) bool { return !t.Open(h.marks.clock(t.Partition, now)) }), err
	}
	var suspect []store.Task
	turns := claim.Turns
	if claim.Suspects {
		var err error
		if suspect, err = read(">=", "", 1, true, ""); err != nil {
			return nil, err
		}
		turns.Limit -= len(suspect)
	}
	keys, err := turnsOf(turns, func(where, key string) (string, int, bool, error) {
		first, err := read(where, "run_key, ", 1, false, key)
		if len(first) == 0 {
			return "", 0, false, err
		}
		return first[0].Key, first[0].Weight, true, nil
	})
	if err != nil {
		return nil, err
	}
	var open []store.Task
	for _, k := range keys {
		some, err := read("=", "", turns.Keys(len(keys))*k.weight, false, k.name)
		if err != nil {
			return nil, err
		}
		open = append(open, some...)
	}
	return append(suspect, store.Take(turns, open, store.KeyOfTask)...), nil
}

func (h *handle) SettleTasks(ctx context.Context, worker string, settled []store.SettledTask) ([]error, error) {
	for i := range settled {
		if err := settled[i].Message.Validate(h.info); err != nil {
			return nil, err
		}
	}
	errs := make([]error, len(settled))
	err := h.write(ctx, "SettleTasks", func(c *conn) error {
		for i := range settled {
			s := &settled[i]
			var before int64
			own, err := c.one(`SELECT settled FROM tasks WHERE partition = ? AND run = ? AND number = ? AND attempt = ? AND worker = ?`,
				[]*int64{&before}, int64(s.Partition), s.Run, s.Number, int64(s.Attempt), worker)
			if err != nil {
				return err
			}
			if errs[i] = nil; !own {
				errs[i] = store.ErrStale
			}
			if !own || before == 1 {
				continue
			}
			if _, err := c.exec(`UPDATE tasks SET settled = 1 WHERE partition = ? AND run = ? AND number = ?`, int64(s.Partition), s.Run, s.Number); err != nil {
				return err
			}
			if err := c.post(&s.Message, h.marks.clock(s.Partition, h.clock())); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	announce(h.path, store.NewsMessage)
	return errs, nil
}

// amongPartitions selects tasks of the listed partitions, or of all if the list is null.
const amongPartitions = `(?1 = 'null' OR partition IN (SELECT value FROM json_each(?1)))`

func (h *handle) Tasks(ctx context.Context, f store.TaskFilter) ([]store.Task, error) {
	if f.Lost {
		if err := h.settleSigns(ctx); err != nil {
			return nil, err
		}
	}
	return result(ctx, h, "Tasks", func(c *conn) ([]store.Task, error) {
		where := amongPartitions + ` AND (?2 = '' OR run = ?2)`
		if f.Lost {
			where += ` AND worker <> '' AND settled = 0 AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = worker AND w.departed = 0 AND w.seen > ?4 - w.lease)`
		}
		return collect(ctx, c, scanTask, `SELECT `+taskColumns+` FROM tasks WHERE `+where+` AND ?4 > 0 ORDER BY `+inTurn+` LIMIT ?3`,
			list(f.Partitions), f.Run, int64(store.Page(f.Limit)), h.clock())
	})
}

func (h *handle) Backlogs(ctx context.Context, partitions []int) ([]store.Backlog, error) {
	scan := func(r row) (b store.Backlog) {
		r.scan(&b.Queue, &b.Name, &b.Waiting, &b.Oldest, &b.Running)
		return b
	}
	return result(ctx, h, "Backlogs", func(c *conn) ([]store.Backlog, error) {
		return collect(ctx, c, scan, `SELECT queue, name, sum(worker = ''), ifnull(min(CASE WHEN worker = '' THEN offered END), 0), sum(worker <> '')
			FROM tasks WHERE `+amongPartitions+` AND settled = 0 GROUP BY queue, name ORDER BY queue, name`, list(partitions))
	})
}

func (h *handle) Workers(ctx context.Context) ([]store.WorkerState, error) {
	return result(ctx, h, "Workers", func(c *conn) ([]store.WorkerState, error) {
		now := h.clock()
		scan := func(r row) (w store.WorkerState) {
			r.scan(&w.ID, &w.Name, &w.Group, &w.Lease, &w.Serves, &w.Draining, &w.Left, &w.Joined, &w.Seen, &w.Claimed)
			w.Expires = w.Seen + int64(w.Lease)
			w.Live = !w.Left && now < w.Expires
			return w
		}
		return collect(ctx, c, scan, `SELECT id, name, node_group, lease, serves, draining, departed, joined, seen,
			(SELECT count(*) FROM tasks WHERE worker = w.id AND worker <> '' AND settled = 0) FROM workers w ORDER BY joined, id`)
	})
}
