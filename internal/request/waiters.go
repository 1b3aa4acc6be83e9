package request

import (
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/store"
)

// waiters are the callers of this process that wait for something in a run's record.
// Retention spares what they have yet to read. The zero value has none.
type waiters struct {
	mu   sync.Mutex
	byID map[string]*waiter // the latest by workflow ID, and through it the others
}

// waiter is a caller that follows the runs of a workflow ID. Run IDs ascend along a chain,
// so it has yet to read its run and those with greater IDs.
type waiter struct {
	among      *waiters
	workflowID string
	run        string // empty while unknown
	next       *waiter
}

// begin adds a caller before its first look.
func (ws *waiters) begin(workflowID, run string) *waiter {
	w := &waiter{among: ws, workflowID: workflowID, run: run}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.byID == nil {
		ws.byID = map[string]*waiter{}
	}
	w.next, ws.byID[workflowID] = ws.byID[workflowID], w
	return w
}

// move says that the caller is done with the runs before this one.
func (w *waiter) move(run string) {
	w.among.mu.Lock()
	defer w.among.mu.Unlock()
	w.run = run
}

func (w *waiter) end() {
	w.among.mu.Lock()
	defer w.among.mu.Unlock()
	first := w.among.byID[w.workflowID]
	switch {
	case first != w:
		for first.next != w {
			first = first.next
		}
		first.next = w.next
	case w.next != nil:
		w.among.byID[w.workflowID] = w.next
	default:
		delete(w.among.byID, w.workflowID)
	}
}

// Awaits reports whether a caller of this process waits for the record of a closed run, or
// of one after it.
func (c *Client) Awaits(r *store.Run) bool {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	for w := c.waiters.byID[r.WorkflowID]; w != nil; w = w.next {
		if r.ID >= w.run {
			return true
		}
	}
	return false
}

// removed returns the error of a wait for a run that does not exist.
func removed(run string, err error) error {
	if run == "" {
		return err // there is none of the workflow ID
	}
	return fmt.Errorf("run %s does not exist, or no longer: retention and gc remove runs some time after they end; keep runs longer than callers may be disconnected: %w", run, err)
}

// lately has the outcomes of runs that ended in this process a short time ago and for which
// nobody waited: who starts many runs asks for their results later. They are those that a Result
// would have got which waited already; so a run that is deleted within that time is answered as if
// it had been. The zero value is empty.
type lately struct {
	mu    sync.Mutex
	byRun map[string]outcome
	order []string // runs, the oldest first
	bytes int
}

type outcome struct {
	workflowID string
	state      core.State
	at         time.Time
}

func (o *outcome) size() int { return latelyEach + len(o.state.Detail) }

const (
	latelyTime  = time.Minute
	latelyBytes = 4 << 20 // of all outcomes
	latelyEach  = 256     // what an outcome takes beside its result, in bytes
)

// add remembers an outcome.
func (l *lately) add(workflowID, run string, s core.State) {
	o := outcome{workflowID, s, time.Now()}
	if o.size() > latelyBytes/16 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byRun == nil {
		l.byRun = map[string]outcome{}
	}
	if _, is := l.byRun[run]; is {
		return
	}
	l.byRun[run], l.bytes = o, l.bytes+o.size()
	l.order = append(l.order, run)
	l.forget(o.at)
}

// forget drops what is too old, or too much.
func (l *lately) forget(now time.Time) {
	for len(l.order) > 0 {
		o := l.byRun[l.order[0]]
		if l.bytes <= latelyBytes && now.Sub(o.at) <= latelyTime {
			return
		}
		l.bytes -= o.size()
		delete(l.byRun, l.order[0])
		l.order[0], l.order = "", l.order[1:]
	}
	l.order = nil
}

// get returns the outcome of a run of a workflow ID, nil if it is not known.
func (l *lately) get(workflowID, run string) *core.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(time.Now())
	if o, is := l.byRun[run]; is && o.workflowID == workflowID {
		return &o.state
	}
	return nil
}
