package request

import (
	"sync"
	"time"

	"github.com/perdure/perdure/internal/core"
)

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
