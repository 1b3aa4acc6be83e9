package workflow

import "github.com/perdure/perdure/internal/coro"

// Waitable is something to wait for: a Future, a Timer, a channel's Receiver.
type Waitable interface {
	ready() bool
	since() int64 // the turn in which it became ready, if it is
	subscribe(*coro.Coroutine)
	unsubscribe(*coro.Coroutine)
	abandon()
}

// Select waits for the first of several and gives the others up: a race. It
// returns the index of the winner, whose result is then there to be read. What
// came first in history wins; of those that came in the same turn, the first
// argument. A losing activity is canceled and its outcome dropped, a losing
// timer removed, a losing wait for a signal or a channel withdrawn (the value
// stays for the next one). To keep the others use WaitAny. Without arguments it
// panics.
func Select(wf *Context, cases ...Waitable) int {
	winner := WaitAny(wf, cases...)
	for _, c := range cases {
		if c != cases[winner] {
			c.abandon()
		}
	}
	return winner
}

// WaitAny waits until at least one of several is ready and returns the index of
// the first that is. Nothing is given up. Without arguments it panics.
func WaitAny(wf *Context, cases ...Waitable) int {
	wf.enter()
	if len(cases) == 0 {
		panic("workflow: Select and WaitAny need at least one argument; without one they would wait for ever")
	}
	for {
		if first := earliest(cases); first >= 0 {
			for _, c := range cases {
				c.unsubscribe(wf.co)
			}
			return first
		}
		for _, c := range cases {
			c.subscribe(wf.co)
		}
		wf.park()
	}
}

// earliest is the index of what was ready first, -1 if nothing is.
func earliest(cases []Waitable) int {
	first := -1
	for i, c := range cases {
		if c.ready() && (first < 0 || c.since() < cases[first].since()) {
			first = i
		}
	}
	return first
}

// WaitAll waits until all are ready.
func WaitAll(wf *Context, all ...Waitable) {
	wf.enter()
	for _, c := range all {
		for !c.ready() {
			c.subscribe(wf.co)
			wf.park()
		}
	}
}
