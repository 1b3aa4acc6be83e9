package core

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// sequence makes one call after the other, for ever.
type sequence struct {
	oneCall
}

func (p *sequence) Advance() error {
	if p.call == nil || p.call.Done {
		p.call = p.run.StartCall(p.start)
	}
	return nil
}

// benchRun is a run that makes one call after the other, with what it does in a step.
type benchRun struct {
	b    *testing.B
	run  *Run
	code *sequence
	now  int64
	last *Turn
}

func newBenchRun(b *testing.B, policy *retry.Policy) *benchRun {
	r := &benchRun{b: b, run: New(Config{Node: "n"}, history.Start{WorkflowID: "w", Run: "r"}), now: 1}
	r.code = &sequence{oneCall{run: r.run, start: StartCall{Kind: history.ActivityScheduled, Name: "work", Policy: policy}}}
	r.run.Bind(r.code)
	return r
}

func (r *benchRun) step(inputs ...Input) *Turn {
	r.now++
	if r.last != nil {
		r.last.Clear()
		r.run.Reuse(r.last)
	}
	turn, err := r.run.Step(r.now, inputs, func(*Call) bool { return true })
	if err != nil {
		r.b.Fatal(err)
	}
	r.last = turn
	return turn
}

// complete ends the attempt in flight, after which the code makes the next call.
func (r *benchRun) complete() *Turn {
	c := r.code.call
	return r.step(AttemptEnded{Call: c.Number, Attempt: c.attempt, Outcome: Completed, Ended: r.now})
}

func BenchmarkResult(b *testing.B) {
	b.ReportAllocs()
	r := newBenchRun(b, nil)
	r.step()
	for b.Loop() {
		r.complete()
	}
}

func BenchmarkRetry(b *testing.B) {
	b.ReportAllocs()
	r := newBenchRun(b, &retry.Policy{MaxAttempts: retry.Unlimited, Backoff: retry.Fixed(10), Jitter: retry.NoJitter})
	r.step()
	failure := history.FromError(errors.New("down"))
	for b.Loop() {
		c := r.code.call
		r.step(AttemptEnded{Call: c.Number, Attempt: c.attempt, Outcome: Failed, Failure: failure, Ended: r.now})
		r.now += 20
		r.step()
	}
}

func BenchmarkLoad(b *testing.B) {
	r := newBenchRun(b, nil)
	var turns []StoredTurn
	keep := func(t *Turn) {
		turns = append(turns, StoredTurn{Number: t.Number, Epoch: 1, Time: t.Time, Events: append([]history.Event(nil), t.Events...)})
	}
	keep(r.step())
	for range 100 {
		keep(r.complete())
	}
	state := r.run.State()
	b.ReportAllocs()
	for b.Loop() {
		loaded := newBenchRun(b, nil)
		if err := loaded.run.Load(turns, nil, state); err != nil {
			b.Fatal(err)
		}
	}
}
