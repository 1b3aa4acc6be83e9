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
	byRun map[string]core.State
	order []passed // the oldest first
	bytes int
}

type passed struct {
	run string
	at  time.Time
}

const (
	latelyTime  = time.Minute
	latelyBytes = 4 << 20 // of all outcomes
	latelyEach  = 256     // what an outcome takes beside its result, in bytes
)

// add remembers an outcome.
func (l *lately) add(run string, s core.State) {
	size := latelyEach + len(s.Detail)
	if size > latelyBytes/16 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byRun == nil {
		l.byRun = map[string]core.State{}
	}
	if _, is := l.byRun[run]; is {
		return
	}
	now := time.Now()
	l.byRun[run], l.bytes = s, l.bytes+size
	l.order = append(l.order, passed{run, now})
	for l.bytes > latelyBytes || now.Sub(l.order[0].at) > latelyTime {
		l.bytes -= latelyEach + len(l.byRun[l.order[0].run].Detail)
		delete(l.byRun, l.order[0].run)
		l.order[0] = passed{}
		l.order = l.order[1:]
	}
}

// get returns the outcome of a run, nil if it is not known.
func (l *lately) get(run string) *core.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, is := l.byRun[run]; is {
		return &s
	}
	return nil
}
