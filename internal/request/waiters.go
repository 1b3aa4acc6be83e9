package request

import (
	"fmt"
	"sync"

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
