package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/gates"
)

// Gate is a gate in this process. Make one with New, at package level or once per
// resource; calls that should wait for each other must share it. It is safe for
// concurrent use, and holds no goroutine. It uses a timer only while a call waits for a
// point in time.
type Gate struct {
	spec Spec
	err  error // what is wrong with the spec

	mu      sync.Mutex
	began   time.Time // the machine's time is counted from here
	machine *gates.Machine[*place]
	timer   *time.Timer // nil if nothing is to be waited for
	rings   int64       // when
}

// New makes a gate with limit slots. Mistakes (an empty name, a limit below 1)
// are reported by Validate, and by each use of the gate.
func New(name string, limit int, opts ...Option) *Gate {
	s := Spec{Name: name, Limit: limit}
	for _, o := range opts {
		o(&s)
	}
	return FromSpec(s)
}

// FromSpec makes the gate of a Spec, such as one read from a file; see New.
func FromSpec(s Spec) *Gate {
	g := &Gate{spec: s, err: s.Validate()}
	if s.Name == gates.Runs {
		g.err = errors.Join(g.err, fmt.Errorf("its name is %q, which is that of the gate of perdure.PerKey", s.Name))
	}
	if g.err == nil {
		s.Mode = cmp.Or(s.Mode, Hold)
		g.machine, g.err = gates.New[*place](s)
	}
	return g
}

// Spec returns the Spec of the gate.
func (g *Gate) Spec() Spec { return g.spec }

// Name returns the gate's name.
func (g *Gate) Name() string { return g.spec.Name }

// Validate returns what is wrong with the gate's Spec, nil if nothing is.
func (g *Gate) Validate() error { return g.err }

// Pause lets no attempt start until Resume. Running attempts continue.
func (g *Gate) Pause() { g.pause(true) }

// Resume ends a Pause.
func (g *Gate) Resume() { g.pause(false) }

func (g *Gate) pause(paused bool) {
	if g.err == nil {
		g.do(func(now int64) *gates.Step[*place] { return g.machine.Pause(now, paused) })
	}
}

// do makes one input and tells all calls what follows.
func (g *Gate) do(input func(now int64) *gates.Step[*place]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.carryOut(input(g.now()))
}

// now is the machine's time. The machine takes zero for no time at all.
func (g *Gate) now() int64 {
	if g.began.IsZero() {
		g.began = time.Now()
	}
	return g.at(time.Now())
}

func (g *Gate) at(t time.Time) int64 {
	d := t.Sub(g.began)
	if d >= math.MaxInt64-1 {
		return gates.Never
	}
	return int64(d) + 1
}

// carryOut hands out the grants and refusals of a step and sets the timer.
func (g *Gate) carryOut(step *gates.Step[*place]) {
	for _, grant := range step.Granted {
		grant.Key.probe = grant.Probe
		grant.Key.wake(granted, "")
	}
	for _, refusal := range step.Refused {
		refusal.Key.wake(refused, refusal.Reason)
	}
	at, ok := g.machine.Next()
	switch {
	case ok && g.timer != nil && g.rings == at:
	case ok:
		g.stopTimer()
		g.rings = at
		g.timer = time.AfterFunc(time.Duration(at-g.now()), g.ring)
	default:
		g.stopTimer()
	}
}

func (g *Gate) stopTimer() {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
}

// ring is called by the timer. One that was stopped too late does no harm.
func (g *Gate) ring() {
	g.do(func(now int64) *gates.Step[*place] {
		if now >= g.rings {
			g.timer = nil
		}
		return g.machine.Tick(now)
	})
}
