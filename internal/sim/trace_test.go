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
	begun time.Time
	full  io.Writer // nil: only its sum is kept
}

// add adds what somebody did to the trace: the number-th time, with so many things.
func (t *trace) add(who int, what string, number, size int, how string) {
	at := time.Since(t.begun)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines++
	t.sum = uint64(dice(t.sum).of(what, who, number, size, int(at)).of(how))
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
