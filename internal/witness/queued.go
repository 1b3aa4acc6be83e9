package witness

import (
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Queue is where the attempts of the workflow queued wait for whoever serves it.
const Queue = "far"

// far is act in the queue.
var far = activity.New("far", perform, activity.Queue(Queue), activity.Retry(retry.Policy{
	MaxAttempts: 3, Backoff: retry.Exponential(5*time.Millisecond, 4, time.Second), CrashLimit: bystander,
}))

// queued has calls in the queue one after the other, of which some fail, and several at
// a time.
var queued = workflow.New("queued", func(wf *workflow.Context, v int) (int, error) {
	for i := range 2 {
		var err error
		if v, err = workflow.Call(wf, far, Effect{Step: fmt.Sprint(queuedStep, i), Order: i, Value: v, Fails: (v + i) % 2}); err != nil {
			return 0, err
		}
	}
	parts, err := workflow.Map(wf, []int{v, v + 1, v + 2}, func(wf *workflow.Context, part int) (int, error) {
		return workflow.Call(wf, far, Effect{Step: fmt.Sprint(queuedStep, "p", part), Order: 2, Value: part})
	})
	if err != nil {
		return 0, err
	}
	return parts[0] + parts[1] + parts[2], nil
})

func queuedResult(v int) int {
	v = Repeat(2, v)
	return Grow(v) + Grow(v+1) + Grow(v+2)
}

// queuedStep begins the names of the steps of queued.
const queuedStep = "q"

// Serves lets a process that has the Definitions serve the queue as well.
func Serves(limit int) perdure.Option { return perdure.ServeQueue(Queue, limit) }

// Worker is what a process registers that serves the queue and nothing else.
func Worker(p *Pen) perdure.Option {
	ink = p
	return perdure.Register(far)
}

// judgeQueue makes sure that no process ran more attempts of the queue at a time than it
// serves, that only those who serve it ran any, and that nothing is left in it.
func (j *judge) judgeQueue() {
	j.judgeCrowd(func(e Entry) (string, int) {
		limit, serves := j.Limits[e.Process]
		switch {
		case j.Limits == nil || !isQueued(e):
			return "", 0
		case !serves && e.Phase == Begin:
			j.find(Wrong, "%s of %s ran in %s, which does not serve the queue", e.Step, e.Workflow, e.Process)
		}
		return e.Process, limit
	})
	status, err := ops.Status(j.ctx, j.Engine)
	if err != nil {
		j.find(Wrong, "%v", err)
		return
	}
	for _, q := range status.Queues {
		if q.Waiting+q.Running > 0 {
			j.find(Orphaned, "in the end there is %+v", q)
		}
	}
}

// isQueued reports whether an entry is of an attempt in the queue.
func isQueued(e Entry) bool {
	return strings.HasPrefix(e.Workflow, queued.Name()+" ") && strings.HasPrefix(e.Step, queuedStep)
}

// judgeCrowd makes sure that no more bodies were between their begin and their end than may
// be in one place: the function says where an entry is, "" for nowhere of interest, and how
// many that may be. A body whose attempt was lost may have continued for a while that others
// took for dead.
func (j *judge) judgeCrowd(place func(Entry) (string, int)) {
	over := map[string]bool{} // those of which the book has an end
	for _, e := range j.Entries {
		if e.Phase != Begin {
			over[e.Attempt] = true
		}
	}
	inside := map[string]map[string]bool{}
	for i, e := range j.Entries {
		where, limit := place(e)
		switch {
		case where == "" || j.lost[e.Attempt] || !over[e.Attempt]:
		case e.Phase != Begin:
			delete(inside[where], e.Attempt)
		default:
			if inside[where] == nil {
				inside[where] = map[string]bool{}
			}
			if inside[where][e.Attempt] = true; len(inside[where]) > limit {
				j.find(Wrong, "entry %d: %d bodies run at %s, where %d may: %v", i, len(inside[where]), where, limit, inside[where])
				return
			}
		}
	}
}
