package rehearsal

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/retry"
)

// Act makes the attempts of an action by its policy.
func (e *effects) Act(a eval.Action) (eval.Value, error) {
	m, result, err := e.w.call(&a)
	if m == nil {
		return nil, err
	}
	return e.attempts(a, m, result)
}

// call begins a call of an action. It returns its mock and its result, no mock if it is over.
func (w *world) call(a *eval.Action) (*Mock, eval.Value, error) {
	w.calls[a.Name]++
	data, err := eval.EncodeMasked(a.Args)
	if err != nil {
		return nil, nil, err
	}
	shown, err := eval.DecodeResult(data)
	if err != nil {
		return nil, nil, err
	}
	m := w.c.mock(a.Name, shown.(*eval.Dict))
	switch {
	case m != nil:
		m.calls++
	case a.Name == "log":
		message, _ := shown.(*eval.Dict).Get("message")
		text, _ := eval.Encode(message)
		w.say("@log %s", text)
		return nil, nil, nil
	default:
		return nil, nil, w.mistake(fmt.Errorf("no mock of case %q fits @%s%s", w.c.Name, a.Name, data))
	}
	result, err := m.result()
	if err != nil {
		return nil, nil, err
	}
	return m, result, nil
}

// mistake ends the case, which no except catches.
func (w *world) mistake(err error) error {
	w.fault = err
	return &eval.Error{Type: eval.TypeSteps, Message: err.Error()}
}

// result is what the call returns that has just begun.
func (m *Mock) result() (eval.Value, error) {
	data := m.Returns
	if m.ReturnsEach != nil {
		data = m.ReturnsEach[min(m.calls, len(m.ReturnsEach))-1]
	}
	if data == nil {
		return nil, nil
	}
	return eval.DecodeResult(data)
}

// execute lets an attempt or a question take its time and returns its failure.
func (e *effects) execute(m *Mock, number int, limit time.Duration) (err error) {
	takes := m.takes
	switch {
	case limit > 0 && limit != retry.Forever && takes >= limit:
		takes, err = limit, &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: limit}
	case number <= len(m.Fails):
		if err = failure(m.Fails[number-1]); m.Unknown {
			err = retry.Unknown(err)
		}
	}
	e.sleep(takes)
	return err
}

func (e *effects) attempts(a eval.Action, m *Mock, result eval.Value) (eval.Value, error) {
	w := e.w
	if a.Verify != nil && a.Policy.OnUnknown == 0 {
		a.Policy.OnUnknown = retry.VerifyUnknown
	}
	state := retry.State{First: w.now}
	for {
		state.Attempt++
		err := e.execute(m, state.Attempt, a.Policy.AttemptTimeout)
		if err == nil {
			w.say("@%s done%s", a.Name, nth(state.Attempt))
			return result, nil
		}
		f := retry.Classify(err)
		d := retry.Decide(&a.Policy, state, f, w.now, 0.5)
		if d.Verify {
			w.say("@%s attempt %d: %s; it may have been done", a.Name, state.Attempt, f.Type())
			if found, err := e.ask(a); found != nil || err != nil {
				return found, err
			}
			settled := state
			settled.Settled = true
			d = retry.Decide(&a.Policy, settled, f, w.now, 0.5)
		}
		switch {
		case d.Pause:
			return nil, w.mistake(fmt.Errorf("@%s waits for a person after attempt %d (%s), and a case has none", a.Name, state.Attempt, d.Reason))
		case !d.Retry:
			w.say("@%s failed%s: %s", a.Name, nth(state.Attempt), f.Type())
			if d.Reason == retry.ReasonUnknown {
				return nil, &retry.UnknownError{Name: a.Name, Attempt: state.Attempt, Err: err}
			}
			return nil, &retry.ExhaustedError{Name: a.Name, Attempts: state.Attempt, Reason: d.Reason, Max: d.Max, Within: a.Policy.Within, Err: err}
		}
		w.say("@%s attempt %d: %s; next in %s", a.Name, state.Attempt, f.Type(), d.Delay)
		state.Previous = d.Delay
		e.sleep(d.Delay)
	}
}

// ask asks the action that verify names whether an attempt was done, as often as the engine
// does. It returns the result that it finds, nil for nothing.
func (e *effects) ask(a eval.Action) (eval.Value, error) {
	w := e.w
	if a.Verify == nil {
		return nil, w.mistake(fmt.Errorf("it is in doubt whether @%s was done, and a case asks only whom [verify: @action] names", a.Name))
	}
	m, result, err := w.call(a.Verify)
	if m == nil {
		return nil, err
	}
	policy := retry.QuestionPolicy(retry.Policy{})
	state := retry.State{First: w.now}
	for {
		state.Attempt++
		err := e.execute(m, state.Attempt, policy.AttemptTimeout)
		if err == nil {
			if result == nil {
				w.say("@%s finds that @%s was not done", a.Verify.Name, a.Name)
			} else {
				w.say("@%s finds that @%s was done", a.Verify.Name, a.Name)
			}
			return result, nil
		}
		d := retry.NextQuestion(&policy, state, 0, err, w.now, 0.5)
		if !d.Retry {
			return nil, w.mistake(fmt.Errorf("@%s waits for a person: @%s did not say in %d questions whether it was done", a.Name, a.Verify.Name, state.Attempt))
		}
		w.say("@%s question %d: %s; next in %s", a.Verify.Name, state.Attempt, retry.Classify(err).Type(), d.Delay)
		state.Previous = d.Delay
		e.sleep(d.Delay)
	}
}

func nth(attempt int) string {
	if attempt == 1 {
		return ""
	}
	return fmt.Sprintf(", attempt %d", attempt)
}
