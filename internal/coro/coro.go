package coro

import (
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
)

// Scheduler runs coroutines. Its methods, except Close, must be called from one goroutine
// at a time: the one in Run, or the coroutine that it runs.
type Scheduler struct {
	ready   []*Coroutine // runnable, in order; ready[head] is next
	head    int
	first   int          // how many of those First added
	all     []*Coroutine // coroutines that have not ended, in any order
	spawned int
	halted  bool
	closing atomic.Bool
	failure error
}

// Coroutine is one line of execution of a Scheduler.
type Coroutine struct {
	scheduler *Scheduler
	id        int
	place     int // index in scheduler.all
	next      func() (struct{}, bool)
	yield     func(struct{}) bool
	queued    bool
	ended     bool
	excused   bool // it may exit its goroutine
	running   atomic.Bool
}

// PanicError is a panic of user code inside a coroutine.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrGoexit says that the code of a coroutine ended its goroutine.
var ErrGoexit = errors.New("the workflow's code called runtime.Goexit (a test's FailNow, perhaps)")

// New returns a scheduler without coroutines.
func New() *Scheduler { return &Scheduler{} }

// Go adds a coroutine at the end of the queue.
func (s *Scheduler) Go(f func(*Coroutine)) *Coroutine {
	s.spawned++
	c := &Coroutine{scheduler: s, id: s.spawned}
	// stop is not used: see Close.
	c.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		c.body(f)
	})
	c.place = len(s.all)
	s.all = append(s.all, c)
	s.enqueue(c)
	return c
}

// forget removes a coroutine from those that have not ended.
func (s *Scheduler) forget(c *Coroutine) {
	last := len(s.all) - 1
	s.all[c.place] = s.all[last]
	s.all[c.place].place = c.place
	s.all[last] = nil
	s.all = s.all[:last]
}

// First adds a coroutine before all others in the queue, except those that First added
// earlier.
func (s *Scheduler) First(f func(*Coroutine)) *Coroutine {
	c := s.Go(f)
	copy(s.ready[s.head+s.first+1:], s.ready[s.head+s.first:len(s.ready)-1])
	s.ready[s.head+s.first] = c
	s.first++
	return c
}

func (c *Coroutine) body(f func(*Coroutine)) {
	returned := false
	defer func() {
		// While unwinding, no caller is left for a panic in a deferred call.
		if v := recover(); !c.scheduler.closing.Load() {
			if v == nil && !returned {
				c.exited()
			} else if v != nil {
				c.scheduler.fail(&PanicError{Value: v, Stack: debug.Stack()})
			}
		}
		c.ended = true
		c.scheduler.forget(c)
	}()
	if !c.scheduler.closing.Load() {
		f(c)
	}
	returned = true
}

// exited is called by the last deferred call of a goroutine that exits. The end of that
// goroutine would also end the goroutine of Run, so it parks here until Close, as a panic
// would have ended it.
func (c *Coroutine) exited() {
	if !c.excused {
		c.scheduler.fail(ErrGoexit)
	}
	for !c.scheduler.closing.Load() {
		c.yield(struct{}{})
	}
}

// Contain calls f. If f panics or exits its goroutine, Contain calls failed with the
// panic's value or ErrGoexit, and the scheduler does not fail. It reports nothing while the
// coroutine is being unwound.
func (c *Coroutine) Contain(f func(), failed func(value any)) {
	returned := false
	defer func() {
		v := recover()
		if c.Closing() {
			return
		}
		if v == nil && !returned {
			c.excused, v = true, ErrGoexit
		}
		if v != nil {
			failed(v)
		}
	}()
	f()
	returned = true
}

func (s *Scheduler) fail(err error) {
	if s.failure == nil {
		s.failure = err
	}
	s.halted = true
}

// Run runs coroutines until all of them are parked or have ended, one panicked or exited
// its goroutine, or the scheduler was halted. It returns the first panic as a *PanicError,
// or ErrGoexit.
func (s *Scheduler) Run() error {
	for !s.halted && s.head < len(s.ready) {
		c := s.ready[s.head]
		s.ready[s.head] = nil
		s.head++
		s.first = max(s.first-1, 0)
		c.queued = false
		if c.ended {
			continue
		}
		c.running.Store(true)
		c.next()
		c.running.Store(false)
	}
	if s.head == len(s.ready) {
		s.ready, s.head = s.ready[:0], 0
	}
	return s.failure
}

// Live returns how many coroutines have not ended.
func (s *Scheduler) Live() int { return len(s.all) }

// Halt stops the scheduler from inside a coroutine and never returns. No coroutine runs
// again until Close unwinds them.
func (c *Coroutine) Halt() {
	c.scheduler.halted = true
	for {
		c.Park()
	}
}

// HaltOthers is Halt for a coroutine that is about to return. If no other coroutine is left
// it returns, and Close has nothing to unwind.
func (c *Coroutine) HaltOthers() {
	if c.scheduler.halted = true; c.scheduler.Live() > 1 {
		c.Halt()
	}
}

// Running reports whether this coroutine is the one that runs now. Unlike all other methods
// it may be called from anywhere, to detect misuse.
func (c *Coroutine) Running() bool { return c.running.Load() }

// Closing reports whether the coroutine is being unwound. From then on it only releases its
// own resources.
func (c *Coroutine) Closing() bool { return c.scheduler.closing.Load() }

// ID numbers the coroutines of a scheduler in the order of their creation,
// from 1.
func (c *Coroutine) ID() int { return c.id }

// Park lets other coroutines run until Wake. The coroutine must call it itself.
func (c *Coroutine) Park() {
	if c.scheduler.closing.Load() {
		runtime.Goexit()
	}
	c.yield(struct{}{})
	if c.scheduler.closing.Load() {
		runtime.Goexit()
	}
}

// Wake puts a parked coroutine at the end of the queue. One that is already queued keeps
// its place.
func (c *Coroutine) Wake() { c.scheduler.enqueue(c) }

func (s *Scheduler) enqueue(c *Coroutine) {
	if c.queued || c.ended {
		return
	}
	c.queued = true
	s.ready = append(s.ready, c)
}

// Close unwinds all coroutines that have not ended. It closes the returned channel when the
// last one has ended. A coroutine whose deferred calls never return keeps the channel open;
// the caller decides how long to wait before it counts that goroutine as abandoned. Close
// must not be called while Run runs, unless Run is stuck; then only the other coroutines
// unwind.
func (s *Scheduler) Close() <-chan struct{} {
	done := make(chan struct{})
	if s.closing.Swap(true) {
		close(done)
		return done
	}
	rest := slices.Clone(s.all)
	if len(rest) == 0 {
		close(done)
		return done
	}
	go unwind(rest, done)
	return done
}

// unwind resumes one coroutine, which ends by Goexit and ends this goroutine too. The
// deferred call continues with the others.
func unwind(rest []*Coroutine, done chan<- struct{}) {
	if len(rest) == 0 {
		close(done)
		return
	}
	c := rest[0]
	defer func() { go unwind(rest[1:], done) }()
	if !c.ended {
		c.next()
	}
}
