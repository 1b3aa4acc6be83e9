package faulty

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/store"
)

// ErrCrashed is the error of every call of a store whose process died. It is not
// Unavailable: nobody is left who could try again.
var ErrCrashed = errors.New("the process has crashed")

// Fault is what happens at one write.
type Fault struct {
	kind  kind
	delay time.Duration
}

type kind int

const (
	failBefore kind = iota + 1
	failAfter
	crashBefore
	crashAfter
	slow
	cutOff
)

// The faults that need no argument.
var (
	// FailBefore returns an Unavailable error and does nothing.
	FailBefore = Fault{kind: failBefore}
	// FailAfter does the work and returns an Unavailable error: the answer was
	// lost on its way. If the work itself fails, its own error is answered.
	FailAfter = Fault{kind: failAfter}
	// CrashBefore ends the process before the work is done.
	CrashBefore = Fault{kind: crashBefore}
	// CrashAfter ends the process when the work is done and not yet answered.
	CrashAfter = Fault{kind: crashAfter}
)

// Slow waits before the work is done; under testing/synctest in virtual time.
func Slow(delay time.Duration) Fault { return Fault{kind: slow, delay: delay} }

// CutOff begins an outage with the write, which fails like everything after it,
// and ends it when the time has passed; under testing/synctest virtual time.
func CutOff(length time.Duration) Fault { return Fault{kind: cutOff, delay: length} }

func (f Fault) String() string {
	switch f.kind {
	case failBefore:
		return "fails before"
	case failAfter:
		return "fails after"
	case crashBefore:
		return "crashes before"
	case crashAfter:
		return "crashes after"
	case slow:
		return "takes " + f.delay.String()
	case cutOff:
		return "begins an outage of " + f.delay.String()
	}
	return "no fault"
}

// Plan says which writes fail, and learns what happened. Its methods are safe
// for concurrent use. One plan may serve several stores, whose writes then
// count together and die together.
type Plan struct {
	mu      sync.Mutex
	faults  [reads]map[int][]Fault
	begun   [reads]int
	ops     []string // of the writes
	outage  bool
	crashed chan struct{}
	open    []store.Store // the stores underneath
}

// count is how a verb is counted: with the writes, with the renewals, or not.
type count int

const (
	writes count = iota
	renewals
	reads
)

func (c count) String() string { return [...]string{"write", "renewal"}[c] }

// NewPlan returns a plan without faults. Under testing/synctest it belongs to
// the bubble it was made in.
func NewPlan() *Plan {
	return &Plan{faults: [reads]map[int][]Fault{{}, {}}, crashed: make(chan struct{})}
}

// At adds faults to write k, counted from 1. Slow goes with any other fault; of
// the others a write has at most one. At panics on arguments that could never
// have an effect.
func (p *Plan) At(k int, faults ...Fault) *Plan { return p.at(writes, k, faults) }

// AtRenewal is At for renewal k. Renewals are counted apart, because how many
// there are depends on how long a scenario takes.
func (p *Plan) AtRenewal(k int, faults ...Fault) *Plan { return p.at(renewals, k, faults) }

func (p *Plan) at(c count, k int, faults []Fault) *Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	if k <= p.begun[c] {
		panic(fmt.Sprintf("faulty: %s %d has begun before (%d have)", c, k, p.begun[c]))
	}
	p.faults[c][k] = append(p.faults[c][k], faults...)
	final := 0
	for _, f := range p.faults[c][k] {
		if f.kind != slow {
			final++
		}
	}
	if final > 1 {
		panic(fmt.Sprintf("faulty: %s %d has more than one way to end: %v", c, k, p.faults[c][k]))
	}
	return p
}

// Writes returns how many writes have begun.
func (p *Plan) Writes() int { return p.count(writes) }

// Renewals returns how many renewals have begun.
func (p *Plan) Renewals() int { return p.count(renewals) }

func (p *Plan) count(c count) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun[c]
}

// Ops lists the writes that have begun, with the faults they met, for the
// message of a test that fails.
func (p *Plan) Ops() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.ops...)
}

// Outage makes every verb, Open included, fail with an Unavailable error until
// it is switched off. Close always works, and a Listen that is under way goes
// on but hears nothing.
func (p *Plan) Outage(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outage = on
}

// Crash ends the process now, whatever its stores are doing.
func (p *Plan) Crash() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.IsCrashed() {
		close(p.crashed)
	}
}

// Crashed is closed when the process has died.
func (p *Plan) Crashed() <-chan struct{} { return p.crashed }

// IsCrashed reports whether the process has died.
func (p *Plan) IsCrashed() bool {
	select {
	case <-p.crashed:
		return true
	default:
		return false
	}
}

// Reap closes the stores underneath, as the operating system closes the files
// of a dead process. It is a crash if none happened before.
func (p *Plan) Reap() error {
	p.Crash()
	p.mu.Lock()
	open := p.open
	p.open = nil
	p.mu.Unlock()
	var errs []error
	for _, s := range open {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// begin admits a call. One that is counted learns its faults.
func (p *Plan) begin(op string, as count) ([]Fault, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.IsCrashed() {
		return nil, ErrCrashed
	}
	var faults []Fault
	if as != reads {
		p.begun[as]++
		faults = p.faults[as][p.begun[as]]
	}
	for _, f := range faults {
		if f.kind == cutOff {
			p.outage = true
			time.AfterFunc(f.delay, func() { p.Outage(false) })
		}
	}
	if as == writes {
		entry := fmt.Sprintf("write %d: %s", p.begun[as], op)
		for _, f := range faults {
			entry += ", " + f.String()
		}
		p.ops = append(p.ops, entry)
	}
	if p.outage {
		return nil, unavailable(op, "the test has cut the database off", true)
	}
	return faults, nil
}

// end decides what a call that did its work may answer.
func (p *Plan) end() error {
	if p.IsCrashed() {
		return ErrCrashed
	}
	return nil
}

// adopt remembers a store, so that Reap can close it.
func (p *Plan) adopt(s store.Store) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = append(p.open, s)
}

func unavailable(op, why string, undone bool) error {
	return &store.UnavailableError{Op: op, Err: errors.New(why), Undone: undone}
}
