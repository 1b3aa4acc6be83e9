package workflow

import (
	"slices"

	"github.com/perdure/perdure/internal/coro"
)

// Waitable is something to wait for: a Future, a Child, a Timer, or the Receivable of a
// Channel.
type Waitable interface {
	ready() bool
	since() int64 // the place in the order of the run at which it became ready, if it is
	subscribe(*coro.Coroutine)
	unsubscribe(*coro.Coroutine)
	ending() bool // it becomes ready although, or because, its scope is canceled
	abandon()
}

// Select waits for the first of its cases and abandons the others: it is a race. It
// returns the index of the winner, whose result can be read without waiting. What was
// ready first wins, by the order of history: of two timers that came due while no process
// ran, the one that was due first; of two that are due at the same time, the first argument. A
// losing activity is canceled and its outcome dropped, a losing timer is removed, and a
// losing wait for a signal or a channel is withdrawn (the value stays for the next one).
// To keep the others use WaitAny. In a canceled scope it returns what WaitAny returns.
// Without arguments it panics.
func Select(wf *Context, cases ...Waitable) int {
	winner := WaitAny(wf, cases...)
	for _, c := range cases {
		if winner < 0 || c != cases[winner] {
			c.abandon()
		}
	}
	return winner
}

// WaitAny waits until at least one of its cases is ready and returns the index of the
// first that is. It abandons nothing. When the scope is canceled, its calls become ready
// as canceled; if the cases are all of other kinds (channels, for instance), WaitAny
// returns -1. Without arguments it panics.
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
		if !wf.waitOn(cases) {
			return -1
		}
	}
}

// waitOn parks until one of several may have become ready. It returns false if
// the scope is canceled and none of them ever will because of that.
func (wf *Context) waitOn(cases []Waitable) bool {
	s := wf.scope
	over := wf.over()
	if slices.ContainsFunc(cases, Waitable.ready) {
		return true // a deadline that had passed has given it up
	}
	if over && !slices.ContainsFunc(cases, Waitable.ending) {
		for _, c := range cases {
			c.unsubscribe(wf.co)
		}
		return false
	}
	for _, c := range cases {
		c.subscribe(wf.co)
	}
	s.parked = append(s.parked, wf.co)
	wf.park()
	s.parked = slices.DeleteFunc(s.parked, func(co *coro.Coroutine) bool { return co == wf.co })
	return true
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

// WaitAll waits until all are ready. The error is that the scope was canceled while one
// of them is not ended by a cancellation (a channel, for instance).
func WaitAll(wf *Context, all ...Waitable) error {
	wf.enter()
	for _, c := range all {
		for !c.ready() {
			if !wf.waitOn([]Waitable{c}) {
				return wf.scope.aborted("wait")
			}
		}
	}
	return nil
}
