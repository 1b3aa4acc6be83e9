package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// claimedState is the SQLSTATE for a withdrawn task that is claimed.
const claimedState = "PD006"

// writeTasks deletes tasks that ended or were given up or withdrawn, and inserts the
// offered ones. It locks tasks in the same order as SettleTasks.
func (b *batch) writeTasks(turns []*store.Turn) {
	if slices.ContainsFunc(turns, (*store.Turn).HasTasks) {
		b.bind()
	}
	over := tasksOf(turns, func(t *store.Turn) []store.TaskRef { return t.Over })
	givenUp := tasksOf(turns, func(t *store.Turn) []store.TaskRef { return t.GivenUp })
	withdrawn := tasksOf(turns, func(t *store.Turn) []store.TaskRef { return t.Withdrawn })
	stopped := tasksOf(turns, func(t *store.Turn) []store.TaskRef { return t.Stopped })
	if len(givenUp)+len(withdrawn)+len(stopped) > 0 { // several statements would lock one after the other
		b.do(`SELECT FROM perdure.tasks t JOIN unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) AS d (partition, run, number, attempt)
			ON t.partition = d.partition AND t.run = d.run AND t.number = d.number ORDER BY t.partition, t.run, t.number FOR UPDATE OF t`,
			taskKeys(inOrder(slices.Concat(over, givenUp, withdrawn, stopped)))...)
	}
	b.deleteTasks(over, `true`)
	b.deleteTasks(withdrawn, `t.worker = ''`)
	b.deleteTasks(givenUp, `NOT t.settled`)
	if stay := slices.Concat(withdrawn, givenUp); len(stay) > 0 {
		// The statement before waited for claims and ends in progress; this one sees their
		// result.
		b.do(`SELECT CASE WHEN count(*) > 0 THEN perdure.refuse('`+claimedState+`', 'a task is claimed or settled') END
			FROM perdure.tasks t JOIN unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) AS d (partition, run, number, attempt)
			ON t.partition = d.partition AND t.run = d.run AND t.number = d.number AND t.attempt = d.attempt`, taskKeys(stay)...)
	}
	if len(stopped) > 0 {
		b.do(`UPDATE perdure.tasks t SET stopped = true FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) AS d (partition, run, number, attempt)
			WHERE t.partition = d.partition AND t.run = d.run AND t.number = d.number AND t.attempt = d.attempt`, taskKeys(stopped)...)
	}
	offered := collect(turns, func(t *store.Turn) []store.Task { return t.Offered })
	n := len(offered)
	if n == 0 {
		return
	}
	b.do(`INSERT INTO perdure.tasks AS t (partition, run, number, attempt, workflow_id, queue, name, run_key, weight, priority, suspect, offered, latest, data)
		SELECT partition, run, number, attempt, workflow_id, queue, name, run_key, weight, priority, suspect, CASE WHEN offered = 0 THEN perdure.now() ELSE offered END, latest, data
		FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::boolean[], $12::bigint[], $13::bigint[], $14::text[])
			AS o (partition, run, number, attempt, workflow_id, queue, name, run_key, weight, priority, suspect, offered, latest, data)
		ON CONFLICT (partition, run, number) DO UPDATE SET attempt = excluded.attempt, workflow_id = excluded.workflow_id, queue = excluded.queue,
			name = excluded.name, run_key = excluded.run_key, weight = excluded.weight, priority = excluded.priority, suspect = excluded.suspect, offered = excluded.offered, latest = excluded.latest, data = excluded.data,
			worker = '', claimed = 0, settled = false, stopped = false WHERE t.attempt < excluded.attempt OR t.attempt = excluded.attempt AND t.worker = ''`,
		column(n, func(i int) int64 { return int64(offered[i].turn.Partition) }),
		runColumn(n, func(i int) string { return offered[i].turn.Run }),
		column(n, func(i int) int64 { return offered[i].part.Number }),
		column(n, func(i int) int64 { return int64(offered[i].part.Attempt) }),
		column(n, func(i int) string { return offered[i].part.WorkflowID }),
		column(n, func(i int) string { return offered[i].part.Queue }),
		column(n, func(i int) string { return offered[i].part.Name }),
		column(n, func(i int) string { return offered[i].part.Key }),
		column(n, func(i int) int64 { return int64(offered[i].part.Weight) }),
		column(n, func(i int) int64 { return int64(offered[i].part.Priority) }),
		column(n, func(i int) bool { return offered[i].part.Suspect }),
		column(n, func(i int) int64 { return offered[i].part.Offered }),
		column(n, func(i int) int64 { return offered[i].part.Latest }),
		column(n, func(i int) string { return payload(offered[i].part.Data) }))
	if b.h.poll > 0 { // pollers see it there
		b.do(`SELECT nextval('perdure.messages')`)
	}
}

// tasksOf returns the tasks that turns refer to, in the order in which they are locked.
func tasksOf(turns []*store.Turn, parts func(*store.Turn) []store.TaskRef) []of[store.TaskRef] {
	return inOrder(collect(turns, parts))
}

func inOrder(refs []of[store.TaskRef]) []of[store.TaskRef] {
	slices.SortFunc(refs, func(a, b of[store.TaskRef]) int {
		return cmp.Or(cmp.Compare(a.turn.Partition, b.turn.Partition), cmp.Compare(a.turn.Run, b.turn.Run), cmp.Compare(a.part.Number, b.part.Number))
	})
	return refs
}

// taskKeys returns the four columns that identify tasks.
func taskKeys(refs []of[store.TaskRef]) []any {
	n := len(refs)
	return []any{
		column(n, func(i int) int64 { return int64(refs[i].turn.Partition) }),
		runColumn(n, func(i int) string { return refs[i].turn.Run }),
		column(n, func(i int) int64 { return refs[i].part.Number }),
		column(n, func(i int) int64 { return int64(refs[i].part.Attempt) }),
	}
}

// deleteTasks deletes the tasks that meet the condition. If nothing has locked them before,
// it locks them in the order of its plan. Only SettleTasks may wait for it in another
// order, when it is repeated for tasks whose ends were already read. Both wait for a lock
// no longer than patience, which is less than the server's deadlock timeout, and try again.
func (b *batch) deleteTasks(refs []of[store.TaskRef], condition string) {
	if len(refs) > 0 {
		b.do(`DELETE FROM perdure.tasks t USING unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) AS d (partition, run, number, attempt)
			WHERE t.partition = d.partition AND t.run = d.run AND t.number = d.number AND t.attempt = d.attempt AND `+condition, taskKeys(refs)...)
	}
}

func (h *handle) Attend(ctx context.Context, w store.Worker) (*store.Attendance, error) {
	if err := w.Check(); err != nil {
		return nil, err
	}
	var answer *store.Attendance
	err := h.hold(ctx, "Attend", func(c *conn) error {
		answer = &store.Attendance{}
		changed := false
		err := c.transaction(ctx, func(b *batch) {
			b.query(`INSERT INTO perdure.workers AS w (id, name, node_group, lease, serves, draining, departed, joined, seen)
				SELECT $1, $2, $3, $4, $5, $6, $7, now, now FROM perdure.now() ON CONFLICT (id) DO UPDATE SET seen = excluded.seen,
					draining = excluded.draining, serves = excluded.serves, departed = excluded.departed
				RETURNING w.seen, w.joined = w.seen OR w.departed`,
				[]any{w.ID, w.Name, w.Group, int64(w.Lease), payload(w.Serves), w.Draining, w.Left}, func(r pgx.Rows) error {
					return r.Scan(&answer.Now, &changed)
				})
			b.do(settleSigns, int64(store.Foresight))
			b.do(`DELETE FROM perdure.workers WHERE id IN (SELECT id FROM perdure.workers WHERE seen + lease < perdure.now() - $1 FOR UPDATE SKIP LOCKED)`,
				int64(store.WorkersRemembered))
			b.query(`SELECT partition, run, number, attempt, stopped FROM perdure.tasks WHERE worker = $1 AND worker <> '' AND NOT settled ORDER BY partition, run, number`,
				[]any{w.ID}, into(&answer.Held, func(t *store.HeldTask) []any {
					return []any{&t.Partition, (*runID)(&t.Run), &t.Number, &t.Attempt, &t.Stopped}
				}))
		}, nil)
		if err == nil && changed {
			c.notify(ctx, store.NewsNodes)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	h.observe(answer.Now)
	return answer, nil
}

// settleSigns makes signs of life of workers that lie in the future signs of now: see
// store.Foresight.
const settleSigns = `UPDATE perdure.workers SET seen = now FROM perdure.now() WHERE id IN (
	SELECT id FROM perdure.workers WHERE seen > perdure.now() + $1 FOR UPDATE SKIP LOCKED)`

// taskColumns are the columns of taskFields.
const taskColumns = `t.partition, t.run, t.number, t.attempt, t.workflow_id, t.queue, t.name, t.priority, t.suspect, t.offered, t.latest, t.worker, t.claimed, t.settled, t.data, t.stopped, t.run_key, t.weight`

func taskFields(t *store.Task) []any {
	return []any{&t.Partition, (*runID)(&t.Run), &t.Number, &t.Attempt, &t.WorkflowID, &t.Queue, &t.Name, &t.Priority, &t.Suspect,
		&t.Offered, &t.Latest, &t.Worker, &t.Claimed, &t.Settled, (*opaque)(&t.Data), &t.Stopped, &t.Key, &t.Weight}
}

func (h *handle) ClaimTasks(ctx context.Context, claim store.TaskClaim) ([]store.Task, error) {
	if err := claim.Check(); err != nil {
		return nil, err
	}
	return shared(ctx, h, "ClaimTasks", func(c *conn) (claimed []store.Task, err error) {
		err = again(locked, func() (err error) {
			claimed, err = c.claimTasks(ctx, &claim)
			return err
		})
		return claimed, err
	})
}

// openTask selects tasks that a claim may get. The sum hides the partition from the planner, which
// thinks that a range of them has few tasks: then it reads them all, and sorts them.
const openTask = `queue = $2 AND worker = '' AND name = ANY ($3::text[]) AND (latest = 0 OR latest > (SELECT now FROM w)) AND t.partition + 0 >= $4 AND t.partition + 0 < $5`

// keysOfTasks is the query of those keys in a recursive table that have tasks, in order, from the
// first on. The index is asked for each of them.
func keysOfTasks(table, from, all string) string {
	first := `SELECT t.run_key, greatest(t.weight, 1) AS weight FROM perdure.tasks t WHERE NOT suspect AND ` + openTask + ` AND `
	order := ` ORDER BY t.run_key, priority DESC, offered LIMIT 1`
	return `(` + first + from + ` AND EXISTS (SELECT FROM w)` + order + `) UNION ALL
				SELECT k.run_key, k.weight FROM ` + table + ` b, LATERAL (` + first + all + ` AND t.run_key > b.run_key` + order + `) k`
}

// inTurn sorts claimed tasks as Take does.
func inTurn(claimed []store.Task, turns store.Turns) []store.Task {
	slices.SortFunc(claimed, func(a, b store.Task) int {
		switch {
		case a.Suspect && !b.Suspect:
			return -1
		case b.Suspect && !a.Suspect:
			return 1
		}
		return cmp.Or(cmp.Compare(a.Key, b.Key), store.CompareTasks(&a, &b))
	})
	usual := slices.IndexFunc(claimed, func(t store.Task) bool { return !t.Suspect })
	if usual < 0 {
		return claimed
	}
	return append(claimed[:usual:usual], store.Take(turns, claimed[usual:], store.KeyOfTask)...)
}

// claimTasks locks the first tasks that no other worker is claiming, and the row of the
// worker, so that an owner that finds the worker dead has seen its claims.
func (c *conn) claimTasks(ctx context.Context, claim *store.TaskClaim) ([]store.Task, error) {
	var claimed []store.Task
	var name string
	suspects := 0
	if claim.Suspects {
		suspects = 1
	}
	err := c.inTwo(ctx, func(b *batch) {
		b.limitLocks(patience)
		b.query(`WITH RECURSIVE w AS (SELECT name, greatest(now, $8) AS now FROM perdure.workers, perdure.now() WHERE id = $1 AND NOT departed AND seen > now - lease FOR KEY SHARE OF workers),
			suspects AS (SELECT t.partition, t.run, t.number FROM perdure.tasks t WHERE suspect AND `+openTask+` AND EXISTS (SELECT FROM w) ORDER BY priority DESC, offered LIMIT $7 FOR UPDATE SKIP LOCKED),
			room AS (SELECT $6::bigint - count(*) AS n FROM suspects),
			next AS (`+keysOfTasks("next", "t.run_key >= $9", "true")+`),
			again AS (`+keysOfTasks("again", "t.run_key < $9", "t.run_key < $9")+`),
			keys AS (SELECT run_key, weight, row_number() OVER () AS place FROM (SELECT * FROM next UNION ALL SELECT * FROM again LIMIT (SELECT n FROM room)) k),
			usual AS (SELECT t.*, k.weight, k.place FROM keys k, LATERAL (SELECT partition, run, number, run_key, priority, offered FROM perdure.tasks t WHERE NOT suspect AND `+openTask+` AND run_key = k.run_key
				ORDER BY priority DESC, offered LIMIT ((SELECT n FROM room) + (SELECT count(*) FROM keys) - 1) / (SELECT count(*) FROM keys) * k.weight FOR UPDATE SKIP LOCKED) t),
			rounds AS (SELECT partition, run, number, place, (row_number() OVER (PARTITION BY run_key ORDER BY priority DESC, offered) - 1 + CASE WHEN run_key = $9 THEN least($10, weight - 1) ELSE 0 END) / weight AS round FROM usual),
			chosen AS (SELECT partition, run, number FROM suspects UNION ALL (SELECT partition, run, number FROM rounds ORDER BY round, place LIMIT (SELECT n FROM room))),
			claimed AS (UPDATE perdure.tasks t SET worker = $1, claimed = greatest(perdure.now(), $8) FROM chosen o
				WHERE t.partition = o.partition AND t.run = o.run AND t.number = o.number RETURNING `+taskColumns+`)
			SELECT t.*, w.name FROM claimed t, w`,
			[]any{claim.Worker, claim.Queue, claim.Names, claim.Partitions.First, claim.Partitions.First + claim.Partitions.Partitions, claim.Limit, suspects, c.h.clock.Load(), claim.From, claim.Spent},
			into(&claimed, func(t *store.Task) []any { return append(taskFields(t), &name) }))
	}, func(b *batch) {
		claimed = inTurn(claimed, claim.Turns)
		turn := store.Turn{}
		for i := range claimed {
			turn.Messages = append(turn.Messages, claimed[i].ClaimedMessage(claim.Worker, name))
		}
		b.deliverAlone(&turn)
	}, func(b *batch) {
		if len(claimed) > 0 {
			b.notify(store.NewsClaims)
		}
	})
	return claimed, err
}

// deliverAlone adds messages that are not part of a turn.
func (b *batch) deliverAlone(t *store.Turn) {
	if len(t.Messages) > 0 {
		b.bind()
		b.deliver([]*store.Turn{t})
	}
}

func (h *handle) SettleTasks(ctx context.Context, worker string, settled []store.SettledTask) ([]error, error) {
	for i := range settled {
		if err := settled[i].Message.Validate(h.info); err != nil {
			return nil, err
		}
	}
	errs := make([]error, len(settled))
	err := h.share(ctx, "SettleTasks", func(c *conn) error {
		return again(locked, func() error { return c.settleTasks(ctx, worker, settled, errs) })
	})
	if err != nil {
		return nil, err
	}
	return errs, nil
}

func (c *conn) settleTasks(ctx context.Context, worker string, settled []store.SettledTask, errs []error) error {
	n := len(settled)
	fresh := &store.Turn{}
	for i := range errs {
		errs[i] = store.ErrStale
	}
	return c.inTwo(ctx, func(b *batch) {
		b.limitLocks(patience)
		b.query(`WITH own AS (SELECT d.place, t.partition, t.run, t.number, t.settled FROM perdure.tasks t
				JOIN unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS d (partition, run, number, attempt, place)
				ON t.partition = d.partition AND t.run = d.run AND t.number = d.number AND t.attempt = d.attempt
				WHERE t.worker = $5 ORDER BY t.partition, t.run, t.number FOR UPDATE OF t),
			ended AS (UPDATE perdure.tasks t SET settled = true FROM own o WHERE t.partition = o.partition AND t.run = o.run AND t.number = o.number AND NOT o.settled)
			SELECT place - 1, settled FROM own ORDER BY place`,
			[]any{
				column(n, func(i int) int64 { return int64(settled[i].Partition) }),
				runColumn(n, func(i int) string { return settled[i].Run }),
				column(n, func(i int) int64 { return settled[i].Number }),
				column(n, func(i int) int64 { return int64(settled[i].Attempt) }),
				worker,
			}, func(r pgx.Rows) error {
				var i int
				var before bool
				err := r.Scan(&i, &before)
				if errs[i] = nil; !before {
					fresh.Messages = append(fresh.Messages, settled[i].Message)
				}
				return err
			})
	}, func(b *batch) { b.deliverAlone(fresh) }, func(b *batch) { b.notify(store.NewsMessage) })
}

func (h *handle) Tasks(ctx context.Context, f store.TaskFilter) ([]store.Task, error) {
	where := `($1::bigint[] IS NULL OR t.partition = ANY ($1)) AND ($2::bytea = '' OR t.run = $2)`
	if f.Lost {
		where += ` AND t.worker <> '' AND NOT t.settled AND NOT EXISTS (SELECT FROM perdure.workers w WHERE w.id = t.worker AND NOT w.departed AND w.seen > perdure.now() - w.lease)`
	}
	return shared(ctx, h, "Tasks", func(c *conn) ([]store.Task, error) {
		if f.Lost {
			if _, err := c.exec(ctx, settleSigns, int64(store.Foresight)); err != nil {
				return nil, err
			}
		}
		return list(ctx, c, `SELECT `+taskColumns+` FROM perdure.tasks t WHERE `+where+` ORDER BY t.priority DESC, t.offered, t.partition, t.run, t.number LIMIT $3`,
			[]any{f.Partitions, runID(f.Run), store.Page(f.Limit)}, taskFields)
	})
}

func (h *handle) Backlogs(ctx context.Context, partitions []int) ([]store.Backlog, error) {
	return readRows(ctx, h, "Backlogs", `SELECT queue, name, count(*) FILTER (WHERE worker = ''), coalesce(min(offered) FILTER (WHERE worker = ''), 0), count(*) FILTER (WHERE worker <> '')
		FROM perdure.tasks WHERE ($1::bigint[] IS NULL OR partition = ANY ($1)) AND NOT settled GROUP BY queue, name ORDER BY queue, name`,
		[]any{partitions}, func(b *store.Backlog) []any { return []any{&b.Queue, &b.Name, &b.Waiting, &b.Oldest, &b.Running} })
}

func (h *handle) Workers(ctx context.Context) ([]store.WorkerState, error) {
	return readRows(ctx, h, "Workers", `SELECT id, name, node_group, lease, serves, draining, departed, joined, seen, seen + lease, NOT departed AND seen > now - lease,
		(SELECT count(*) FROM perdure.tasks WHERE worker = w.id AND worker <> '' AND NOT settled) FROM perdure.workers w, perdure.now() ORDER BY joined, id`,
		nil, func(w *store.WorkerState) []any {
			return []any{&w.ID, &w.Name, &w.Group, &w.Lease, (*opaque)(&w.Serves), &w.Draining, &w.Left, &w.Joined, &w.Seen, &w.Expires, &w.Live, &w.Claimed}
		})
}
