package golden

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/retry"
)

// EngineOnly are the fields of a Policy that no outcome of Decide or Do depends
// on. The tests of the durable engine must prove that they have an effect.
var EngineOnly = []string{"CrashLimit"}

// AtGates are the fields that need a queue to have an effect: gates in process,
// and besides those the workers of the engine, whose tests must prove it too.
var AtGates = []string{"QueueTimeout"}

// NotCanceled is the CancelAt of a case that is not canceled.
const NotCanceled time.Duration = -1

// Case is one case of the table.
type Case struct {
	Name     string
	Policy   retry.Policy
	Attempts []Attempt

	// CancelAt is when the call is canceled, counted from the first schedule,
	// or NotCanceled.
	CancelAt time.Duration

	// EngineOnly says that the in-process runner must refuse the policy.
	EngineOnly bool

	// Want is what must follow.
	Want Trace
}

// Attempt is what happens in one attempt.
type Attempt struct {
	// Outcome is ok or an error expression, see the package comment.
	Outcome string

	// Took is how long the attempt runs unless its context ends it.
	Took time.Duration

	// Beats are when it heartbeats, counted from its start, ascending.
	Beats []time.Duration

	// U is the draw for the jitter of the wait that follows.
	U float64

	// Denied says that the retry budget has nothing left for the retry that
	// would follow.
	Denied bool

	// Probe says that the attempt is the probe of a circuit breaker.
	Probe bool
}

// Trace is what follows from a case.
type Trace struct {
	// Judgments are those of the failed attempts, in order.
	Judgments []Judgment

	// Starts are when the attempts start, counted from the first schedule.
	Starts []time.Duration

	// End is how the call ends, in the words of the package comment.
	End string
}

// Action is what a decision does.
type Action string

// The actions, in the words of the table.
const (
	Retry Action = "retry"
	Stop  Action = "stop"
	Pause Action = "pause"
)

// actionOf is what a decision does.
func actionOf(d retry.Decision) Action {
	switch {
	case d.Retry:
		return Retry
	case d.Pause:
		return Pause
	}
	return Stop
}

// Judgment is what follows one failed attempt.
type Judgment struct {
	Action Action
	Delay  time.Duration
	Reason retry.Reason
	Rule   int // -1 if no rule decided
}

// String prints the judgment as the table has it.
func (j Judgment) String() string {
	words := []string{string(j.Action)}
	if j.Action == Retry {
		words = append(words, j.Delay.String())
	}
	words = append(words, string(j.Reason))
	if j.Rule >= 0 {
		words = append(words, "rule", strconv.Itoa(j.Rule))
	}
	return strings.Join(words, " ")
}

// String prints the trace one line per judgment, for comparison in a test.
func (t Trace) String() string {
	var b strings.Builder
	for _, j := range t.Judgments {
		fmt.Fprintln(&b, j)
	}
	fmt.Fprintf(&b, "starts%s\nend %s\n", formatList(t.Starts), t.End)
	return b.String()
}

// WithoutRules returns the trace as a runner sees it that does not say which
// rule decided.
func (t Trace) WithoutRules() Trace {
	judgments := make([]Judgment, len(t.Judgments))
	for i, j := range t.Judgments {
		j.Rule = -1
		judgments[i] = j
	}
	t.Judgments = judgments
	return t
}

// Fails reports whether the outcome is an error.
func (a Attempt) Fails() bool { return a.Outcome != "ok" }

// Run is the body of the n-th attempt (n counts from 1): it takes its time,
// beats, and returns or panics with its outcome. When ctx is canceled it
// returns ctx.Err() at once. first is the time of the first schedule; beat is
// called for each heartbeat.
func (c *Case) Run(ctx context.Context, n int, first time.Time, beat func()) error {
	if n > len(c.Attempts) {
		return retry.Terminal(fmt.Errorf("case %q has no attempt %d", c.Name, n))
	}
	a := c.Attempts[n-1]
	start := time.Now()
	for _, at := range a.Beats {
		if err := sleepUntil(ctx, start.Add(at)); err != nil {
			return err
		}
		beat()
	}
	if err := sleepUntil(ctx, start.Add(a.Took)); err != nil {
		return err
	}
	if inner, ok := strings.CutPrefix(a.Outcome, "panic("); ok {
		panic(mustError(strings.TrimSuffix(inner, ")"), first))
	}
	return a.Err(first)
}

// sleepUntil waits until t or until ctx is canceled.
func sleepUntil(ctx context.Context, t time.Time) error {
	d := time.Until(t)
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Err returns the error that the attempt ends with, nil for ok. A panic is the
// error that it becomes. first is the time of the first schedule.
func (a Attempt) Err(first time.Time) error {
	if !a.Fails() {
		return nil
	}
	return mustError(a.Outcome, first)
}

// End describes the error of a finished call in the words of the table.
func End(err error) string {
	if err == nil {
		return "ok"
	}
	if e, ok := errors.AsType[*retry.AbortedError](err); ok {
		return fmt.Sprintf("aborted %s %d", e.Phase, e.Attempt)
	}
	if e, ok := errors.AsType[*retry.ExhaustedError](err); ok {
		return fmt.Sprintf("exhausted %s %d", e.Reason, e.Attempts)
	}
	if retry.IsTerminal(err) {
		return "terminal"
	}
	return "unexpected: " + err.Error()
}
