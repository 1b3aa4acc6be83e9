package sim

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// trace is what happened in a world, in order: the same seed gives the same trace.
type trace struct {
	mu    sync.Mutex
	sum   uint64
	lines int
	at    time.Duration // of the last lines
	now   uint64        // the sum of those lines: what happens at one moment has no order
	begun time.Time
	over  bool
	full  io.Writer // nil: only its sum is kept
}

// add adds what somebody did to the trace: the number-th time, with a count of things.
func (t *trace) add(who int, what string, number, size int, how string) {
	at := time.Since(t.begun)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.lines++
	if at != t.at {
		t.sum, t.at, t.now = mix(t.sum^t.now), at, 0
	}
	t.now += uint64(dice(at).of(what, who, number, size).of(how))
	if t.full != nil {
		fmt.Fprintf(t.full, "%14s  %2d %-8s %3d %3d  %s\n", at, who, what, number, size, how)
	}
}

// explain adds words to a trace that is shown. They are not part of its sum.
func (t *trace) explain(format string, args ...any) {
	if t.full == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.full, "%14s  "+format+"\n", append([]any{time.Since(t.begun)}, args...)...)
}

// end ends the trace: how processes leave a world that has been judged is not part of it.
func (t *trace) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}
