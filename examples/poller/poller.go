package main

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Cursor is how far the poller has come. It is all that one run hands to the next.
type Cursor struct {
	After int // the last entry that is in the table
	Every time.Duration
}

// Fetch copies the entries that come after a number into the table, and returns the
// number of the last one. It is tried for ever: a feed that is down comes back.
var Fetch = activity.Declare[int, int]("fetch", activity.Retry(retry.Policy{
	MaxAttempts:    retry.Unlimited,
	Within:         retry.Forever,
	Backoff:        retry.Exponential(100*time.Millisecond, 2, time.Minute),
	AttemptTimeout: 10 * time.Second,
}))

// pollsPerRun is how long a history gets. After that the next run begins with an
// empty one, in the same transaction.
const pollsPerRun = 20

// Poller polls.
var Poller = workflow.Declare[Cursor, Cursor]("poller")

func poll(wf *workflow.Context, c Cursor) (Cursor, error) {
	for range pollsPerRun {
		last, err := workflow.Call(wf, Fetch, c.After)
		if err != nil {
			return c, err // canceled
		}
		c.After = last
		workflow.SetStatus(wf, fmt.Sprintf("%d entries copied", c.After))
		if err := workflow.Sleep(wf, c.Every); err != nil {
			return c, err
		}
	}
	return workflow.ContinueAsNew(wf, Poller, c)
}
