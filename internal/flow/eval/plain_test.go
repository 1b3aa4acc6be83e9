package eval

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure/retry"
)

// plain are effects without an engine: actions run in this process, one after the
// other, by retry.Do.
type plain struct {
	Zones
	Context context.Context
	// Do makes one attempt of an action.
	Do func(ctx context.Context, name string, args *Dict) (Value, error)

	turn int64
}

// Act runs an action by its policy.
func (p *plain) Act(a Action) (Value, error) {
	p.turn++
	return retry.Value(p.Context, a.Policy, func(ctx context.Context) (Value, error) { return p.Do(ctx, a.Name, a.Args) }, retry.WithName(a.Name))
}

// ActAll runs actions one after the other.
func (p *plain) ActAll(all []Action) []Outcome {
	out := make([]Outcome, len(all))
	for i, a := range all {
		out[i].Value, out[i].Err = p.Act(a)
	}
	return out
}

// Each makes the calls one after the other.
func (p *plain) Each(n int, do func(i int, in Effects)) {
	for i := range n {
		do(i, p)
	}
}

// Retry calls do by a policy.
func (p *plain) Retry(policy retry.Policy, do func(in Effects) error) error {
	return retry.Do(p.Context, policy, func(ctx context.Context) error {
		return do(&plain{Context: ctx, Do: p.Do, turn: p.turn})
	})
}

// Receive fails: nothing sends signals to a program without an engine.
func (p *plain) Receive(signal string, timeout time.Duration) (Value, error) {
	return nil, fault(TypeValue, "there is no engine that could receive the signal %s", signal)
}

// Watch does nothing.
func (p *plain) Watch(func() *Dict) {}

// Sleep waits.
func (p *plain) Sleep(d time.Duration) error {
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
func (p *plain) Uncanceled() Effects {
	return &plain{Context: context.WithoutCancel(p.Context), Do: p.Do, turn: p.turn}
}

// Turn counts what was waited for.
func (p *plain) Turn() int64 { return p.turn }

// History is none.
func (p *plain) History() (events, most int) { return 0, 0 }

// Now is the time of the process.
func (p *plain) Now() time.Time { return time.Now() }

// UUID makes a random UUID of version 4.
func (p *plain) UUID() string {
	hi, lo := rand.Uint64(), rand.Uint64()
	hi, lo = hi&^0xf000|0x4000, lo&^(3<<62)|2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
}

// Random is a number from 0 up to 1.
func (p *plain) Random() float64 { return rand.Float64() }
