package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Queues holds the verbs of attempts that run elsewhere than on the owner of their run.
//
// An attempt that is offered in a queue is a task: a row that the owner's turn writes
// (Turn.Offered). A worker claims it, runs it and settles it; the owner hears of both by
// messages that stand in the same transactions. Only the owner removes the row, with the
// turn that takes the end of the attempt, or gives it up: what a worker says of a task
// whose row is gone, or another's, is refused.
type Queues interface {
	// Attend registers a worker or is its sign of life, and returns the tasks that are
	// still its own: one that it runs and does not find there was given up by its owner.
	// With Left the worker is there no more.
	Attend(ctx context.Context, worker Worker) (*Attendance, error)

	// ClaimTasks makes a worker that is live the
	// claimant of tasks that nobody has claimed, and returns them in the order in which
	// they are to run. Those that another one is about to claim are left out. The runs get
	// a message of KindClaimed each. A worker that is not live gets none.
	ClaimTasks(ctx context.Context, claim TaskClaim) ([]Task, error)

	// SettleTasks ends tasks that the worker has claimed, and posts the message of each to
	// its run. The errors have an entry for each task: nil means that its message is on
	// the way or was read, ErrStale that the task is not the worker's (any more).
	// Repeating the call with the same tasks is settling once.
	SettleTasks(ctx context.Context, worker string, settled []SettledTask) ([]error, error)
}

// NewsTasks says that tasks were offered, or given up by their owners.
const NewsTasks News = 1 << 3

// NewsClaims says that tasks were claimed: messages of KindClaimed are in inboxes. Nobody
// waits for them, and what ends the attempt soon is news of its own.
const NewsClaims News = 1 << 4

// TaskRef names an attempt that is offered in a queue.
type TaskRef struct {
	Partition int
	Run       string
	Number    int64 // of the call in its run
	Attempt   int
}

// Compare orders tasks by what names them.
func (t TaskRef) Compare(o TaskRef) int {
	return cmp.Or(cmp.Compare(t.Partition, o.Partition), cmp.Compare(t.Run, o.Run), cmp.Compare(t.Number, o.Number), cmp.Compare(t.Attempt, o.Attempt))
}

// WorkersRemembered is how long a worker is listed that is there no more.
const WorkersRemembered = 24 * time.Hour

// Task is an attempt that is offered in a queue.
type Task struct {
	TaskRef
	WorkflowID string
	Queue      string
	Name       string // of the activity
	Priority   int    // higher goes first
	Suspect    bool   // its process died while it ran: a worker claims one such at a time
	Offered    int64  // ns
	Data       []byte // what the worker needs to know

	// The store says:
	Worker  string // the ID of its claimant, "" if there is none
	Claimed int64  // ns, 0 if it is not claimed
	Settled bool   // its claimant has said how it ended
	Stopped bool   // its claimant is asked to end it
}

// CompareTasks orders tasks as they are to run: by priority, higher first, then by when
// they were offered. It returns a negative number if a comes before b.
func CompareTasks(a, b *Task) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Offered, b.Offered), a.Compare(b.TaskRef))
}

// KindClaimed is the kind of message that tells a run who claimed an attempt of it. Its
// data is a TaskClaimed.
const KindClaimed = "claimed"

// TaskClaimed is the data of a message of KindClaimed.
type TaskClaimed struct {
	Call    int64  `json:"call"`
	Attempt int    `json:"attempt"`
	Worker  string `json:"worker"` // ID
	Name    string `json:"name"`
}

// ClaimedMessage is what the run is told when a worker claims the task.
func (t *Task) ClaimedMessage(worker, name string) Message {
	data, _ := json.Marshal(TaskClaimed{Call: t.Number, Attempt: t.Attempt, Worker: worker, Name: name}) // cannot fail
	return Message{
		Partition: t.Partition, WorkflowID: t.WorkflowID, Run: t.Run, Kind: KindClaimed,
		Key: fmt.Sprintf("%s/%s/%d/%d", KindClaimed, t.Run, t.Number, t.Attempt), Data: data,
	}
}

// Worker is a process that serves queues.
type Worker struct {
	ID       string        // unique per start of a process
	Name     string        // for people
	Group    string        // whose partitions' tasks it claims
	Lease    time.Duration // how long its tasks stay its own without a sign of life
	Serves   []byte        // which queues, for people and for those who wait
	Draining bool          // it claims no more
	Left     bool          // it is there no more, and runs nothing
}

// WorkerState is a worker as others see it.
type WorkerState struct {
	Worker
	Joined  int64 // ns
	Seen    int64 // last sign of life, ns
	Expires int64 // when its lease runs out or did, ns
	Live    bool  // it has not left, and its lease has not run out
	Claimed int   // tasks that it has and has not settled
}

// Attendance answers a sign of life.
type Attendance struct {
	Now  int64      // the database's clock, ns
	Held []HeldTask // the worker's tasks that it has not settled
}

// HeldTask is a task of a worker that it has not settled.
type HeldTask struct {
	TaskRef
	Stopped bool // it is to end: its call was canceled
}

// TaskClaim says which tasks a worker wants.
type TaskClaim struct {
	Worker     string // ID
	Partitions Group  // of its group
	Queue      string
	Names      []string // of the activities that it can run
	Limit      int      // at least 1
	Suspects   bool     // it may have one suspect
}

// SettledTask is a task that has ended, and what its run is told.
type SettledTask struct {
	TaskRef
	Message Message
}

// TaskFilter selects tasks.
type TaskFilter struct {
	Partitions []int  // nil: all
	Run        string // "": of all runs
	Lost       bool   // claimed and not settled, by a worker that is not live
	Limit      int    // 0: 100
}

// Backlog is what is in a queue.
type Backlog struct {
	Queue   string
	Name    string // of the activity
	Waiting int    // tasks that nobody has claimed
	Oldest  int64  // since when the oldest of them waits, ns; 0 if there is none
	Running int    // tasks that are claimed and not settled
}

// HasTasks reports whether tasks come, go or change with the turn.
func (t *Turn) HasTasks() bool {
	return len(t.Over)+len(t.GivenUp)+len(t.Withdrawn)+len(t.Stopped)+len(t.Offered) > 0
}

// Check returns why no store would register the worker, or nil.
func (w *Worker) Check() error {
	if w.ID == "" || w.Lease <= 0 {
		return fmt.Errorf("a worker needs an ID and a lease, not %q and %s", w.ID, w.Lease)
	}
	return text("worker", w.ID, w.Name, w.Group)
}

// Check returns why no store would look for such tasks, or nil.
func (c *TaskClaim) Check() error {
	if c.Worker == "" || c.Queue == "" || c.Limit < 1 {
		return fmt.Errorf("a claim of %d tasks in queue %q by worker %q: it needs a worker, a queue and a limit", c.Limit, c.Queue, c.Worker)
	}
	return nil
}

// validateTasks returns why no store would take the turn's tasks.
func (t *Turn) validateTasks() error {
	for i := range t.Offered {
		o := &t.Offered[i]
		if t.Run == "" || o.Run != "" && o.Run != t.Run || o.Partition != 0 && o.Partition != t.Partition {
			return fmt.Errorf("task %d belongs to run %q of partition %d", o.Number, o.Run, o.Partition)
		}
		if o.Queue == "" || o.WorkflowID == "" || o.Attempt < 1 {
			return fmt.Errorf("task %d has no queue, no workflow ID or no attempt", o.Number)
		}
		if err := text("task", o.Queue, o.Name, o.WorkflowID); err != nil {
			return err
		}
	}
	return nil
}
