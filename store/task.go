package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Queues has the methods for attempts that run elsewhere than on the owner of their run.
//
// An attempt that is offered in a queue is a task: a row that the owner's turn writes
// (Turn.Offered). A worker claims it, runs it and settles it. Claiming and settling post
// messages to the owner in the same transaction. Only the owner removes the row, with the turn
// that takes the end of the attempt or gives the attempt up. If the row is gone, or belongs to
// another worker, what a worker reports about the task is refused.
type Queues interface {
	// Attend registers a worker or is its sign of life, and returns the tasks that are
	// still its own: one that it runs and does not find there was given up by its owner.
	// With Left the worker has left.
	Attend(ctx context.Context, worker Worker) (*Attendance, error)

	// ClaimTasks makes a live worker the claimant of unclaimed tasks and returns them in the
	// order in which they are to run: a suspect, then those that Take chooses by TaskClaim.Turns,
	// those of a key by CompareTasks. It skips tasks that another call is claiming. The run of
	// each task gets a message of KindClaimed. A worker that is not live gets no tasks.
	ClaimTasks(ctx context.Context, claim TaskClaim) ([]Task, error)

	// SettleTasks ends tasks that the worker has claimed, and posts the message of each to its
	// run. The result has an error for each task: nil means that its message was posted, now or
	// before, and ErrStale that the task is not, or no longer, the worker's. Repeating the call
	// with the same tasks has no further effect.
	SettleTasks(ctx context.Context, worker string, settled []SettledTask) ([]error, error)
}

// NewsTasks announces that tasks were offered, or given up by their owners.
const NewsTasks News = 1 << 3

// NewsClaims announces that tasks were claimed, so messages of KindClaimed are in inboxes.
// Reading them is not urgent, and a message about the end of the attempt is news of its own.
const NewsClaims News = 1 << 4

// TaskRef names an attempt that is offered in a queue.
type TaskRef struct {
	Partition int
	Run       string
	Number    int64 // of the call in its run
	Attempt   int
}

// Compare orders tasks by all fields.
func (t TaskRef) Compare(o TaskRef) int {
	return cmp.Or(cmp.Compare(t.Partition, o.Partition), cmp.Compare(t.Run, o.Run), cmp.Compare(t.Number, o.Number), cmp.Compare(t.Attempt, o.Attempt))
}

// Foresight is how far in the future the time of a heartbeat of a node may be. A later time was
// written before the database's clock was set back, and counts as now, so that it neither
// extends nor ends a lease.
const Foresight = time.Second

// WorkersRemembered is how long a worker is listed after it has left or died.
const WorkersRemembered = 24 * time.Hour

// Task is an attempt that is offered in a queue.
type Task struct {
	TaskRef
	WorkflowID string
	Queue      string
	Name       string // of the activity
	Key        string // of the run: keys take turns
	Weight     int    // of the key, 0 for 1
	Priority   int    // among those of the key; higher goes first
	Suspect    bool   // its process died while it ran; a worker runs one suspect at a time
	Offered    int64  // ns
	Latest     int64  // from then on no worker may claim it, ns; 0 for never
	Data       []byte // what the worker needs to know

	// Set by the store:
	Worker  string // ID of its claimant; "" if there is none
	Claimed int64  // ns; 0 if it is not claimed
	Settled bool   // its claimant has reported how it ended
	Stopped bool   // its claimant should end it
}

// Open reports whether a worker may claim the task at a time.
func (t *Task) Open(now int64) bool { return t.Worker == "" && (t.Latest == 0 || now < t.Latest) }

// CompareTasks orders tasks in the order in which they run: by priority, higher first, then by
// when they were offered. It returns a negative number if a comes before b.
func CompareTasks(a, b *Task) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Offered, b.Offered), a.Compare(b.TaskRef))
}

// KindClaimed is the kind of message that tells a run which worker claimed its attempt.
// Its data is a TaskClaimed.
const KindClaimed = "claimed"

// TaskClaimed is the data of a message of KindClaimed.
type TaskClaimed struct {
	Call    int64  `json:"call"`
	Attempt int    `json:"attempt"`
	Worker  string `json:"worker"` // ID
	Name    string `json:"name"`
}

// ClaimedMessage returns the message to the run when a worker claims the task.
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
	Lease    time.Duration // how long its tasks stay its own without another Attend
	Serves   []byte        // its queues, for people and for callers that wait
	Draining bool          // it claims nothing more
	Left     bool          // it is gone and runs nothing
}

// WorkerState is the row of a worker with its state.
type WorkerState struct {
	Worker
	Joined  int64 // ns
	Seen    int64 // last Attend, ns
	Expires int64 // when its lease expires or expired, ns
	Live    bool  // it has not left, and its lease has not expired
	Claimed int   // tasks that it has claimed and not settled
}

// Attendance is the result of a worker's heartbeat.
type Attendance struct {
	Now  int64      // the database's clock, ns
	Held []HeldTask // the worker's tasks that it has not settled
}

// HeldTask is a task of a worker that it has not settled.
type HeldTask struct {
	TaskRef
	Stopped bool // the worker should end it: its call was canceled
}

// TaskClaim says which tasks a worker can take.
type TaskClaim struct {
	Worker     string // ID
	Partitions Group  // of its group
	Queue      string
	Names      []string // of the activities that it can run
	Turns               // Limit is at least 1
	Suspects   bool     // it may get one suspect
}

// KeyOfTask returns the key of a task and its weight.
func KeyOfTask(t *Task) (key string, weight int) { return t.Key, t.Weight }

// SettledTask is a task that has ended, with the message to its run.
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

// Backlog describes the tasks of one activity in a queue.
type Backlog struct {
	Queue   string
	Name    string // of the activity
	Waiting int    // unclaimed tasks
	Oldest  int64  // when the oldest of these was offered, ns; 0 if there is none
	Running int    // tasks that are claimed and not settled
}

// HasTasks reports whether the turn inserts, deletes or changes tasks.
func (t *Turn) HasTasks() bool {
	return len(t.Over)+len(t.GivenUp)+len(t.Withdrawn)+len(t.Stopped)+len(t.Offered) > 0
}

// Check returns an error if no store would register the worker.
func (w *Worker) Check() error {
	if w.ID == "" || w.Lease <= 0 {
		return fmt.Errorf("a worker needs an ID and a lease, not %q and %s", w.ID, w.Lease)
	}
	return text("worker", w.ID, w.Name, w.Group)
}

// Check returns an error if no store would carry out the claim.
func (c *TaskClaim) Check() error {
	if c.Worker == "" || c.Queue == "" || c.Limit < 1 {
		return fmt.Errorf("a claim of %d tasks in queue %q by worker %q: it needs a worker, a queue and a limit", c.Limit, c.Queue, c.Worker)
	}
	return nil
}

// validateTasks returns an error if no store would take the turn's tasks.
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
