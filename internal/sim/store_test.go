package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// opener opens the database for a node.
type opener struct{ node *node }

func (o opener) Open(ctx context.Context) (store.Store, error) {
	n := o.node
	inner, err := carry(ctx, n, vOpen, "", 0, func() (store.Store, error) { return n.world.database().Open(ctx) })
	if err != nil {
		return nil, err
	}
	return &connection{inner, n}, nil
}

// connection is the database as a node has it: what it asks takes time, fails, and is seen by
// the model.
type connection struct {
	store.Store
	node *node
}

// change carries out a verb that writes, and shows it to the model.
func change[T any](ctx context.Context, c *connection, v verb, about string, size int, do func() (T, error), see func(m *model, answer T, err error)) (T, error) {
	return carry(ctx, c.node, v, about, size, func() (T, error) {
		w := c.node.world
		w.writing.Lock()
		defer w.writing.Unlock()
		answer, err := do()
		if see != nil {
			see(w.model, answer, err)
		}
		return answer, err
	})
}

// only is change for a verb that returns an error alone.
func only(ctx context.Context, c *connection, v verb, about string, do func() error, see func(m *model, err error)) error {
	_, err := change(ctx, c, v, about, 0, func() (struct{}, error) { return struct{}{}, do() }, func(m *model, _ struct{}, err error) {
		if see != nil {
			see(m, err)
		}
	})
	return err
}

func (c *connection) Join(ctx context.Context, node store.Node) error {
	return only(ctx, c, vJoin, "", func() error { return c.Store.Join(ctx, node) }, func(m *model, err error) { m.join(&node, err) })
}

func (c *connection) Renew(ctx context.Context, r store.Renewal) (*store.Membership, error) {
	return change(ctx, c, vRenew, "", 0, func() (*store.Membership, error) { return c.Store.Renew(ctx, r) },
		func(m *model, seen *store.Membership, err error) { m.renew(&r, seen, err) })
}

func (c *connection) Leave(ctx context.Context, node string) error {
	return only(ctx, c, vLeave, "", func() error { return c.Store.Leave(ctx, node) }, func(m *model, err error) { m.leave(node, err) })
}

func (c *connection) Claim(ctx context.Context, node string, places []int) ([]store.Ownership, error) {
	return change(ctx, c, vClaim, "", len(places), func() ([]store.Ownership, error) { return c.Store.Claim(ctx, node, places) },
		func(m *model, got []store.Ownership, err error) { m.claim(node, got, err) })
}

func (c *connection) Release(ctx context.Context, node string, places []int) error {
	return only(ctx, c, vRelease, "", func() error { return c.Store.Release(ctx, node, places) }, func(m *model, err error) { m.release(node, places, err) })
}

func (c *connection) Move(ctx context.Context, move store.Move) error {
	return only(ctx, c, vMove, move.Run, func() error { return c.Store.Move(ctx, move) }, func(m *model, err error) { m.move(&move, err) })
}

func (c *connection) Dissolve(ctx context.Context, partition int, epoch int64, ward int) (bool, error) {
	return change(ctx, c, vDissolve, "", 0, func() (bool, error) { return c.Store.Dissolve(ctx, partition, epoch, ward) },
		func(m *model, gone bool, err error) { m.dissolve(partition, epoch, ward, gone, err) })
}

func (c *connection) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	size, about := 0, ""
	for i := range turns {
		size += 1000 + int(turns[i].Number)
		about = max(about, turns[i].Run)
	}
	return change(ctx, c, vCommit, about, size, func() (store.Result, error) { return c.Store.Commit(ctx, turns) },
		func(m *model, r store.Result, err error) {
			for i := range turns {
				if err == nil {
					c.node.explainTurn(&turns[i], r.Errors[i])
					m.turn(&turns[i], r.Errors[i])
				}
			}
		})
}

func (n *node) explainTurn(t *store.Turn, err error) {
	if n.trace.full == nil {
		return
	}
	state := ""
	if t.State != nil {
		state = string(t.State.Status)
	}
	n.trace.explain("      turn %d of %.40s in %d at epoch %d: %s %s, %v", t.Number, t.Run, t.Place(), t.Epoch, state, t.Events, err)
	for what, tasks := range map[string][]store.TaskRef{"over": t.Over, "given up": t.GivenUp, "withdrawn": t.Withdrawn, "stopped": t.Stopped} {
		if len(tasks) > 0 {
			n.trace.explain("        %s: %v", what, tasks)
		}
	}
	for i := range t.Offered {
		n.trace.explain("        offers attempt %d of call %d", t.Offered[i].Attempt, t.Offered[i].Number)
	}
	for _, call := range t.Calls {
		n.trace.explain("        call %d %s: %s, attempt %d", call.Number, call.Name, call.State, call.Attempt)
	}
}

func (c *connection) Group(ctx context.Context, name string) (store.Group, error) {
	return carry(ctx, c.node, vGroup, "", 0, func() (store.Group, error) { return c.Store.Group(ctx, name) })
}

func (c *connection) Secret(ctx context.Context) ([]byte, error) {
	return carry(ctx, c.node, vSecret, "", 0, func() ([]byte, error) { return c.Store.Secret(ctx) })
}

func (c *connection) Create(ctx context.Context, run store.Run) error {
	return only(ctx, c, vCreate, run.WorkflowID, func() error { return c.Store.Create(ctx, run) }, func(m *model, err error) { m.create(&run, err) })
}

func (c *connection) Post(ctx context.Context, message store.Message) error {
	return only(ctx, c, vPost, message.WorkflowID+message.Key, func() error { return c.Store.Post(ctx, message) }, nil)
}

func (c *connection) Take(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return change(ctx, c, vTake, workflowID, 0, func() ([]store.Message, error) { return c.Store.Take(ctx, partition, workflowID) }, nil)
}

func (c *connection) Switch(ctx context.Context, s store.Switch) (store.Switch, error) {
	return change(ctx, c, vSwitch, s.Name, 0, func() (store.Switch, error) { return c.Store.Switch(ctx, s) }, nil)
}

func (c *connection) Delete(ctx context.Context, d store.Deletion) (int, error) {
	return change(ctx, c, vDelete, "", len(d.Runs), func() (int, error) { return c.Store.Delete(ctx, d) }, func(m *model, _ int, err error) { m.forget(d.Runs, err) })
}

func (c *connection) Within(any) (store.Transaction, error) {
	return nil, errors.New("a world has no transactions of others")
}

func (c *connection) Transact(ctx context.Context, f func(tx any) error) error {
	return only(ctx, c, vTransact, "", func() error { return c.Store.Transact(ctx, f) }, nil)
}

func (c *connection) Attend(ctx context.Context, worker store.Worker) (*store.Attendance, error) {
	return change(ctx, c, vAttend, "", 0, func() (*store.Attendance, error) { return c.Store.Attend(ctx, worker) }, nil)
}

func (c *connection) ClaimTasks(ctx context.Context, claim store.TaskClaim) ([]store.Task, error) {
	return change(ctx, c, vClaimTasks, claim.Queue, claim.Limit, func() ([]store.Task, error) { return c.Store.ClaimTasks(ctx, claim) },
		func(m *model, got []store.Task, err error) { m.grab(claim.Worker, got) })
}

func (c *connection) SettleTasks(ctx context.Context, worker string, settled []store.SettledTask) ([]error, error) {
	return change(ctx, c, vSettleTasks, "", len(settled), func() ([]error, error) { return c.Store.SettleTasks(ctx, worker, settled) },
		func(m *model, errs []error, err error) { m.settle(worker, settled, errs) })
}

func (c *connection) Due(ctx context.Context, places []int, after, until int64, limit int) ([]store.Wake, error) {
	return carry(ctx, c.node, vDue, "", len(places), func() ([]store.Wake, error) {
		all, err := c.Store.Due(ctx, places, after, until, limit)
		slices.SortStableFunc(all, func(a, b store.Wake) int { // those of the same time come in any order
			if a.Time != b.Time {
				return 0
			}
			return c.node.dice.of(a.Run).below(3) - c.node.dice.of(b.Run).below(3)
		})
		return all, err
	})
}

func (c *connection) Line(ctx context.Context, l store.LineRead) ([]store.LineRun, error) {
	return carry(ctx, c.node, vDue, l.From, len(l.Partitions), func() ([]store.LineRun, error) { return c.Store.Line(ctx, l) })
}

func (c *connection) Inbox(ctx context.Context, places []int, read store.InboxRead) ([]store.Message, error) {
	return carry(ctx, c.node, vInbox, "", len(places), func() ([]store.Message, error) { return c.Store.Inbox(ctx, places, read) })
}

func (c *connection) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	return carry(ctx, c.node, vLoad, run, 0, func() (*store.Record, error) { return c.Store.Load(ctx, partition, run) })
}

// look carries out a verb that only reads.
func look[T any](ctx context.Context, c *connection, about string, do func() (T, error)) (T, error) {
	return carry(ctx, c.node, vRead, about, 0, do)
}

func (c *connection) Posted(ctx context.Context, partition int, workflowID string) ([]store.Message, error) {
	return look(ctx, c, "posted "+workflowID, func() ([]store.Message, error) { return c.Store.Posted(ctx, partition, workflowID) })
}

func (c *connection) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	return look(ctx, c, "find "+workflowID+run, func() (*store.Run, error) { return c.Store.Find(ctx, partition, workflowID, run) })
}

func (c *connection) Ended(ctx context.Context, runs []store.RunRef) ([]store.Run, error) {
	return look(ctx, c, "ended", func() ([]store.Run, error) { return c.Store.Ended(ctx, runs) })
}

func (c *connection) List(ctx context.Context, filter store.Filter) ([]store.Run, error) {
	return look(ctx, c, "list", func() ([]store.Run, error) { return c.Store.List(ctx, filter) })
}

func (c *connection) History(ctx context.Context, partition int, run string, after int64, limit int) ([]store.TurnRow, error) {
	return look(ctx, c, "history "+run, func() ([]store.TurnRow, error) { return c.Store.History(ctx, partition, run, after, limit) })
}

func (c *connection) Calls(ctx context.Context, partition int, run string) ([]store.Call, error) {
	return look(ctx, c, "calls "+run, func() ([]store.Call, error) { return c.Store.Calls(ctx, partition, run) })
}

func (c *connection) Attempts(ctx context.Context, partition int, run string, part store.AttemptRange) ([]store.Attempt, error) {
	return look(ctx, c, "attempts "+run, func() ([]store.Attempt, error) { return c.Store.Attempts(ctx, partition, run, part) })
}

func (c *connection) Owners(ctx context.Context, partition int) ([]store.Ownership, error) {
	return look(ctx, c, "owners", func() ([]store.Ownership, error) { return c.Store.Owners(ctx, partition) })
}

func (c *connection) Nodes(ctx context.Context) ([]store.Member, error) {
	return look(ctx, c, "nodes", func() ([]store.Member, error) { return c.Store.Nodes(ctx) })
}

func (c *connection) Switches(ctx context.Context, group string, after int64) ([]store.Switch, error) {
	return look(ctx, c, "switches", func() ([]store.Switch, error) { return c.Store.Switches(ctx, group, after) })
}

func (c *connection) Tasks(ctx context.Context, filter store.TaskFilter) ([]store.Task, error) {
	return look(ctx, c, "tasks", func() ([]store.Task, error) { return c.Store.Tasks(ctx, filter) })
}

func (c *connection) Workers(ctx context.Context) ([]store.WorkerState, error) {
	return look(ctx, c, "workers", func() ([]store.WorkerState, error) { return c.Store.Workers(ctx) })
}

func (c *connection) Waiting(ctx context.Context, filter store.CallFilter) ([]store.WaitingCall, error) {
	return look(ctx, c, "waiting", func() ([]store.WaitingCall, error) { return c.Store.Waiting(ctx, filter) })
}

// Listen passes news on. Some of it comes late, some twice, and some is lost: then the node
// finds out when it looks by itself.
func (c *connection) Listen(ctx context.Context, notify func(store.News)) error {
	n := c.node
	if n.isDead() {
		return errCrashed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := n.onDeath(func() { cancel(errCrashed) })
	defer stop()
	heard := 0
	err := c.Store.Listen(ctx, func(news store.News) {
		heard++
		d := n.dice.of("news", heard)
		if n.isFrozen() || n.isCut() || heard > 1 && n.trouble().oneIn > 0 && d.oneIn(10) {
			return // lost
		}
		late := time.Duration(100+d.of("late").below(2000)) * time.Microsecond
		if d.of("very").oneIn(8) {
			late *= 40
		}
		time.AfterFunc(late, func() {
			if !n.isDead() {
				notify(news)
				if d.of("twice").oneIn(8) {
					notify(news)
				}
			}
		})
	})
	if n.isDead() {
		return errCrashed
	}
	return err
}

// Close closes nothing that is dead: the operating system does that.
func (c *connection) Close() error { return c.Store.Close() }
