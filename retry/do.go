package retry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure/internal/attemptkey"
	"github.com/perdure/perdure/internal/firstlast"
)

// Do calls fn until it succeeds or the policy says stop. It runs fn on the
// calling goroutine, waits there between attempts, and returns
//
//   - nil when an attempt succeeded;
//   - the error of fn itself, when fn marked it with Terminal;
//   - *ExhaustedError, wrapping the last failure, when no attempt is left or
//     the policy stops on the failure;
//   - *AbortedError when ctx is canceled: immediately in a wait; during an attempt, whose
//     context is canceled, when it fails (a success is kept); and without calling fn if
//     ctx is canceled already or while the attempt waits at a gate;
//   - *ConfigError when the call is set up wrongly. An invalid policy, or one
//     that needs the durable engine (OnExhausted: Pause), is refused before fn
//     is called.
//
// A panic of fn is a failure of type *PanicError and is judged like any other.
//
// Each attempt gets a fresh child of ctx, never of the context of an earlier
// attempt. It carries the attempt's info (see FromContext) and is canceled when
// AttemptTimeout or HeartbeatTimeout is exceeded. As fn runs on the caller's
// goroutine, an fn that ignores its context delays Do: nothing can stop it. A
// success that comes late is kept; a failure that comes late is a
// *TimeoutError that wraps it.
//
// A first attempt that succeeds costs next to nothing: without options and
// timeouts fn gets ctx itself, no clock is read (except for Within) and nothing
// is allocated.
//
// A call that has gates (see WithGates and package gate) waits there before each
// attempt. An attempt that waits longer than QueueTimeout has failed with a
// *TimeoutError, and is judged like any other. A retry that cannot start within
// Within stops the call. Without gates QueueTimeout cannot be exceeded, because
// an attempt starts when it is due; nor, ever, can CrashLimit: a crash takes the
// caller with it.
func Do(ctx context.Context, policy Policy, fn func(context.Context) error, opts ...Option) error {
	if len(opts) != 0 || ctx == nil || fn == nil || ctx.Err() != nil ||
		!policy.asksNothing() || !policy.boundsValid() || !policy.Backoff.common() || !policy.Jitter.common() {
		return doFully(ctx, &policy, fn, opts)
	}
	var first time.Time
	if policy.bounded() {
		first = time.Now()
	}
	if err := invoke(ctx, fn); err != nil {
		return doAgain(ctx, &policy, fn, first, err)
	}
	return nil
}

// The next four functions say together that a policy is valid and asks for nothing
// before or during an attempt. Every call of Do pays for them, so each is a few
// comparisons, small enough to be inlined; a policy that they do not recognize may
// be valid.

// asksNothing reports whether the policy has no lists, rules and timeouts.
func (p *Policy) asksNothing() bool {
	return int64(len(p.Rules)|len(p.Retryable)|len(p.NonRetryable))|int64(p.AttemptTimeout|p.HeartbeatTimeout)|
		int64(p.OnTimeout)|int64(p.OnExhausted)|int64(p.OnUnknown) == 0
}

// boundsValid reports whether the other numbers of the policy are valid.
func (p *Policy) boundsValid() bool {
	return int64(p.MaxAttempts|p.CrashLimit)|int64(p.QueueTimeout|p.MaxServerDelay|p.Within) >= 0 && p.MaxAttempts < Unlimited
}

// common recognizes the default, None, Fixed, and an exponential backoff with a Max.
func (b *Backoff) common() bool {
	if b.Kind == backoffExponential {
		return b.Initial >= 0 && b.Max >= b.Initial && b.Coefficient >= 1 && b.Coefficient <= math.MaxFloat64
	}
	return b.Max == 0 && b.Coefficient == 0 && (b.Initial == 0 && b.Kind <= backoffFixed || b.Initial > 0 && b.Kind == backoffFixed)
}

// common recognizes the jitters that go with every backoff and have no parameter.
func (j *Jitter) common() bool {
	return j.Proportion == 0 && (j.Kind <= jitterNone || j.Kind == jitterFull || j.Kind == jitterEqual)
}

// doAgain continues with a call without options whose first attempt failed.
func doAgain(ctx context.Context, p *Policy, fn func(context.Context) error, first time.Time, err error) error {
	c := call{parent: ctx, limit: p.AttemptLimit(), first: first}
	return c.resume(p, fn, err)
}

// Value is Do for a function with a result. On failure it returns the zero T. What a question
// finds (see Verify) is the result, too.
func Value[T any](ctx context.Context, policy Policy, fn func(context.Context) (T, error), opts ...Option) (T, error) {
	var value, zero T
	if fn == nil {
		return zero, Do(ctx, policy, nil, opts...)
	}
	if len(opts) > 0 {
		return valueOrFound(ctx, policy, fn, opts)
	}
	err := Do(ctx, policy, func(ctx context.Context) error {
		var err error
		value, err = fn(ctx)
		return err
	})
	if err != nil {
		return zero, err
	}
	return value, nil
}

// valueOrFound is Value for a call with options, whose result a question may find.
func valueOrFound[T any](ctx context.Context, policy Policy, fn func(context.Context) (T, error), opts []Option) (T, error) {
	var value, zero T
	found := Option{optionFound, config{found: func(result any) (err error) {
		var is bool
		if value, is = result.(T); !is {
			err = fmt.Errorf("the question found a value of type %T; the call has one of type %T", result, zero)
		}
		return err
	}}}
	err := Do(ctx, policy, func(ctx context.Context) (err error) {
		value, err = fn(ctx)
		return err
	}, append(opts[:len(opts):len(opts)], found)...)
	if err != nil {
		return zero, err
	}
	return value, nil
}

// doFully is Do for every call.
func doFully(ctx context.Context, p *Policy, fn func(context.Context) error, opts []Option) error {
	c := call{parent: ctx, config: configure(opts)}
	if err := c.check(p, fn); err != nil {
		return &ConfigError{Name: c.name, Err: err}
	}
	if ctx.Err() != nil {
		return c.aborted(1, PhaseExecution, nil)
	}
	if c.verification.ask != nil && p.OnUnknown == 0 {
		p.OnUnknown = VerifyUnknown
	}
	c.limit = p.AttemptLimit()
	if p.bounded() {
		c.first = time.Now()
	}
	if c.place != nil {
		defer func() { c.place.Leave(c.ended) }() // whatever ends it, a panic of a sink included
	} else if p.AttemptTimeout|p.HeartbeatTimeout == 0 && c.derive == nil && !c.traced && !c.recorded() && c.verification.ask == nil {
		return c.resume(p, fn, invoke(ctx, fn))
	}
	c.id = newTrace(c.trace)
	at, err := c.attempt(p, 1, fn)
	return c.loop(p, fn, at, err)
}

// call is one call of Do. It lives on the stack; so does the policy, which its
// methods get as an argument: as a field it would be taken to escape together
// with the other fields.
type call struct {
	parent context.Context // captured when the call is made, never replaced
	config
	limit  int // the largest number of attempts
	id     trace
	first  time.Time // of the first schedule; zero unless Within needs it
	failed []Record  // records for an ExhaustedError

	place Gates  // nil without gates
	free  int    // failed probes of circuit breakers, which are not charged
	ended Reason // empty until the call has ended
}

// check refuses what cannot be honored.
func (c *call) check(p *Policy, fn func(context.Context) error) error {
	switch {
	case c.parent == nil:
		return errors.New("the context is nil; pass context.Background() if there is no other")
	case fn == nil:
		return errors.New("the function is nil")
	case p.OnExhausted == Pause:
		return errors.New("OnExhausted is Pause, which needs the durable engine: in process no operator can resume the call; use Fail")
	}
	if err := p.Validate(); err != nil {
		return err
	}
	if err := c.verification.check(p); err != nil {
		return err
	}
	return c.checkGates()
}

// resume continues after a first attempt that was made in the caller's context.
func (c *call) resume(p *Policy, fn func(context.Context) error, err error) error {
	if err == nil {
		return nil
	}
	c.id = newTrace("")
	return c.loop(p, fn, attempt{number: 1}, err)
}

// attempt is what is known of an attempt that has been made.
type attempt struct {
	number int
	id     string // empty unless a hook or a record needed it
	start  time.Time
	probe  bool // of a circuit breaker

	question int // if it is a question: which one about the attempt before
	answer   Answer
	fault    error // why it found no answer
}

// loop judges the outcome of an attempt, and waits for and makes the next one.
func (c *call) loop(p *Policy, fn func(context.Context) error, at attempt, err error) error {
	var previous time.Duration
	for {
		if err == nil {
			c.succeeded(at)
			return nil
		}
		if halt, is := err.(*haltError); is {
			return c.halted(p, at, halt)
		}
		failed := at.number
		d, failure := c.judge(p, &at, previous, err)
		if !d.Retry {
			return failure
		}
		if !c.wait(d.Delay) {
			return c.aborted(failed, PhaseBackoff, err)
		}
		previous = d.Delay
		at, err = c.attempt(p, at.number+1, fn)
	}
}

// judge asks Decide about a failure and records the attempt. If no further
// attempt follows, it returns what the caller gets. If the program was asked whether the
// attempt had its effect, at becomes the last question.
func (c *call) judge(p *Policy, at *attempt, previous time.Duration, err error) (Decision, error) {
	now := time.Now()
	state := State{Attempt: at.number - c.free, First: c.first, Previous: previous, Canceled: c.parent.Err() != nil, Probe: at.probe}
	if at.probe {
		state.Attempt-- // it is not charged if another attempt follows
	}
	var w walk
	w.classify(err)
	failure, u := w.Failure, c.draw()
	failure.Types = w.types() // on the stack, unless there are many

	d := Decide(p, state, failure, now, u)
	if d.Verify {
		if failure := c.verify(at, now, err); failure != nil || at.answer == AnswerFound {
			return Decision{}, failure
		}
		state.Settled, now = true, time.Now()
		d = Decide(p, state, failure, now, u)
	}
	// The budget is asked last, and only if it matters: asking may cost a token.
	if d.Retry && c.place != nil && !c.place.Retry(at.number, d.At) {
		state.OverBudget = true
		d = Decide(p, state, failure, now, u)
	}
	switch {
	case !d.Retry:
		c.ended = d.Reason
	case at.probe:
		c.free++
	}
	c.record(*at, Record{End: now, Err: err, Delay: d.Delay, Reason: d.Reason})

	switch {
	case d.Retry:
		return d, nil
	case d.Reason == ReasonUnknown:
		return d, c.unknown(*at, now, 0, err)
	case d.Reason == ReasonCanceled && state.Canceled:
		return d, c.aborted(at.number, PhaseExecution, err)
	case d.Reason == ReasonCanceled:
		return d, &AbortedError{Name: c.name, Attempt: at.number, Phase: PhaseExecution, Cause: err}
	case d.Reason == ReasonTerminal:
		return d, err
	}
	return d, &ExhaustedError{
		Name: c.name, Attempts: at.number - c.free, Reason: d.Reason, Max: d.Max,
		Within: p.Within, Records: c.failures(), Err: err,
	}
}

// draw returns a number in [0, 1).
func (c *call) draw() float64 {
	if c.random != nil {
		return c.random()
	}
	return rand.Float64()
}

// wait sleeps until the next attempt is due and reports whether it may start:
// not if the caller's context is canceled before.
func (c *call) wait(delay time.Duration) bool {
	if delay > 0 {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.parent.Done():
		}
	}
	return c.parent.Err() == nil
}

// attempt makes the n-th attempt and returns its outcome.
func (c *call) attempt(p *Policy, n int, fn func(context.Context) error) (attempt, error) {
	probe := false
	if c.place != nil {
		var err error
		if probe, err = c.enter(p, n); err != nil {
			return attempt{number: n}, err
		}
	}
	at := attempt{number: n, start: time.Now(), probe: probe}
	err := c.execute(p, &at, fn)
	return at, err
}

// execute runs fn in a context of its own, within the timeouts of a policy.
func (c *call) execute(p *Policy, at *attempt, fn func(context.Context) error) error {
	ac := &attemptContext{
		Context: c.parent, trace: c.id, number: at.number, max: c.limit,
		limits: limits{start: at.start, lastBeat: at.start, attempt: p.AttemptTimeout, silence: p.HeartbeatTimeout},
	}
	defer ac.end()

	ctx := context.Context(ac)
	if c.derive != nil || c.recorded() {
		info := ac.RetryAttempt()
		at.id = info.ID
		if c.derive != nil {
			var err error
			if ctx, err = c.derived(ac, info); err != nil {
				return err
			}
		}
	}
	err := invoke(ctx, fn)
	if err != nil && ac.limited() && c.parent.Err() == nil {
		if timeout := ac.timedOut(time.Now()); timeout != nil {
			timeout.Err = err
			return timeout
		}
	}
	return err
}

// derived lets the derive hook make the attempt's context.
func (c *call) derived(ac *attemptContext, info AttemptInfo) (ctx context.Context, err error) {
	err = invoke(ac, func(context.Context) (err error) {
		ctx, err = c.derive(ac, info)
		return err
	})
	switch {
	case err != nil:
		err = fmt.Errorf("the derive hook failed: %w", err)
	case ctx == nil:
		err = errors.New("the derive hook returned no context; return the given one or a descendant of it")
	case ctx.Value(attemptkey.Key{}) != any(ac):
		err = errors.New("the derive hook returned a context that does not descend from the one it was given")
	default:
		return ctx, nil
	}
	return nil, &haltError{setup: true, cause: err}
}

// invoke runs fn and turns a panic into an error.
func invoke(ctx context.Context, fn func(context.Context) error) (err error) {
	returned := false
	defer func() {
		if returned { // recover costs more than this
			return
		}
		if v := recover(); v != nil { // nil even if the goroutine is ending (Goexit)
			err = NewPanicError(v)
		}
	}()
	err = fn(ctx)
	returned = true
	return err
}

// succeeded records the last attempt of a call that succeeded.
func (c *call) succeeded(at attempt) {
	c.ended = ReasonSucceeded
	if c.recorded() {
		c.record(at, Record{End: time.Now(), Reason: ReasonSucceeded})
	}
}

// record keeps the record of an attempt and hands it out.
func (c *call) record(at attempt, r Record) {
	r.Number, r.ID, r.Start = at.number, at.id, at.start
	if r.ID == "" && c.recorded() {
		_, r.ID = c.id.ids(at.number)
	}
	if r.Question, r.Answer = at.question, at.answer; r.Question > 0 {
		r.Err = at.fault
	}
	if r.Err != nil {
		if c.failed == nil {
			c.failed = make([]Record, 0, min(c.limit, usualFailures))
		}
		c.failed = firstlast.Append(c.failed, r)
	}
	if c.records != nil {
		*c.records = firstlast.Append(*c.records, r)
	}
	if c.sink != nil {
		c.sink(r)
	}
}

// usualFailures is for how many failures there is room at once.
const usualFailures = 2

// failures returns the records of failures, with the IDs that nobody has asked for before.
func (c *call) failures() []Record {
	for i := range c.failed {
		if r := &c.failed[i]; r.ID == "" {
			_, r.ID = c.id.ids(r.Number)
		}
	}
	return c.failed
}

// aborted is what a canceled call returns.
func (c *call) aborted(n int, phase Phase, last error) error {
	cause := c.parent.Err()
	if why := context.Cause(c.parent); !errors.Is(why, cause) {
		cause = fmt.Errorf("%w: %w", cause, why)
	}
	return &AbortedError{Name: c.name, Attempt: n, Phase: phase, Cause: cause, Last: last}
}
