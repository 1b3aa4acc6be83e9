package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure/retry"
)

// Plain are effects without an engine: actions run in this process, one after the
// other, by retry.Do. Nothing survives the process. It is for trying a program out,
// and for tests that hold other effects to it.
type Plain struct {
	Context context.Context
	// Do makes one attempt of an action.
	Do func(ctx context.Context, name string, args *Dict) (Value, error)

	turn int64
}

// Act runs an action by its policy.
func (p *Plain) Act(a Action) (Value, error) {
	p.turn++
	return retry.Value(p.Context, a.Policy, func(ctx context.Context) (Value, error) { return p.Do(ctx, a.Name, a.Args) }, retry.WithName(a.Name))
}

// ActAll runs actions one after the other.
func (p *Plain) ActAll(all []Action) []Outcome {
	out := make([]Outcome, len(all))
	for i, a := range all {
		out[i].Value, out[i].Err = p.Act(a)
	}
	return out
}

// Each makes the calls one after the other.
func (p *Plain) Each(n int, do func(i int, in Effects)) {
	for i := range n {
		do(i, p)
	}
}

// Retry calls do by a policy.
func (p *Plain) Retry(policy retry.Policy, do func(in Effects) error) error {
	return retry.Do(p.Context, policy, func(ctx context.Context) error {
		return do(&Plain{Context: ctx, Do: p.Do, turn: p.turn})
	})
}

// Receive fails: nothing sends signals to a program without an engine.
func (p *Plain) Receive(signal string, timeout time.Duration) (Value, error) {
	return nil, fault(TypeValue, "there is no engine that could receive the signal %s", signal)
}

// Watch does nothing.
func (p *Plain) Watch(func() *Dict) {}

// Sleep waits.
func (p *Plain) Sleep(d time.Duration) error {
	p.turn++
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.Context.Done():
		return &retry.AbortedError{Name: "sleep", Attempt: 1, Phase: retry.PhaseExecution, Cause: context.Cause(p.Context)}
	}
}

// Uncanceled are the same effects without the cancellation of the context.
func (p *Plain) Uncanceled() Effects {
	return &Plain{Context: context.WithoutCancel(p.Context), Do: p.Do, turn: p.turn}
}

// Turn counts what was waited for.
func (p *Plain) Turn() int64 { return p.turn }

// History is none.
func (p *Plain) History() (events, most int) { return 0, 0 }

// Offset is what the database of time zones says.
func (p *Plain) Offset(zone string, at time.Time) (seconds int, known bool) {
	return ZoneOffset(zone, at)
}

// ZoneOffset is what the database of time zones of this process says of a zone, by its
// name in that database.
func ZoneOffset(zone string, at time.Time) (seconds int, known bool) {
	place, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return 0, false
	}
	_, seconds = at.In(place).Zone()
	return seconds, true
}

// Now is the time of the process.
func (p *Plain) Now() time.Time { return time.Now() }

// UUID makes a random UUID of version 4.
func (p *Plain) UUID() string {
	hi, lo := rand.Uint64(), rand.Uint64()
	hi, lo = hi&^0xf000|0x4000, lo&^(3<<62)|2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
}

// Random is a number from 0 up to 1.
func (p *Plain) Random() float64 { return rand.Float64() }
