package retry

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestU1_OutcomesOfErrors: timeouts of an attempt are unknown, other errors are not, and the
// outermost mark decides.
func TestU1_OutcomesOfErrors(t *testing.T) {
	plain := errors.New("refused")
	for _, c := range []struct {
		err     error
		unknown bool
	}{
		{nil, false},
		{plain, false},
		{Unknown(plain), true},
		{NotDone(plain), false},
		{fmt.Errorf("charge: %w", Unknown(plain)), true},
		{Unknown(NotDone(plain)), true},
		{NotDone(Unknown(plain)), false},
		{errors.Join(plain, Unknown(plain)), true},
		{Terminal(Unknown(plain)), true},
		{&TimeoutError{Kind: TimeoutAttempt}, true},
		{&TimeoutError{Kind: TimeoutHeartbeat}, true},
		{&TimeoutError{Kind: TimeoutQueue}, false},
		{&TimeoutError{Kind: TimeoutAttempt, Err: NotDone(plain)}, false},
		{&TimeoutError{Kind: TimeoutQueue, Err: Unknown(plain)}, true},
		{&ExhaustedError{Err: Unknown(plain)}, true},
	} {
		if IsUnknown(c.err) != c.unknown {
			t.Errorf("IsUnknown(%v) of %T is %t", c.err, c.err, !c.unknown)
		}
		if c.err != nil && strings.Contains(TypeName(c.err), "Outcome") {
			t.Errorf("the mark shows in the type %s of %v", TypeName(c.err), c.err)
		}
	}
}

// TestU6_DecideByOnUnknown: what follows an unknown outcome is judged before everything but a
// cancellation, and what is settled is judged like any other failure.
func TestU6_DecideByOnUnknown(t *testing.T) {
	unknown := Failure{Types: []string{"Broken"}, Unknown: true}
	late := Failure{Types: []string{TypeTimeout}, Timeout: TimeoutAttempt, Unknown: true}
	stop := []Rule{{Types: []string{"Broken"}, Stop: true}}
	for _, c := range []struct {
		name   string
		policy Policy
		state  State
		of     Failure
		want   Decision
	}{
		{"default", Policy{Backoff: None}, State{Attempt: 1}, unknown, Decision{Retry: true, Reason: ReasonImmediate, Rule: -1, Max: 5}},
		{"verify", Policy{OnUnknown: VerifyUnknown}, State{Attempt: 1}, unknown, Decision{Verify: true, Reason: ReasonVerify, Rule: -1, Max: 5}},
		{"verify at the last", Policy{OnUnknown: VerifyUnknown, MaxAttempts: 1}, State{Attempt: 1}, unknown, Decision{Verify: true, Reason: ReasonVerify, Rule: -1, Max: 1}},
		{"verify before a stop", Policy{OnUnknown: VerifyUnknown, Rules: stop}, State{Attempt: 1}, unknown, Decision{Verify: true, Reason: ReasonVerify, Rule: 0, Max: 5}},
		{"settled, then stopped", Policy{OnUnknown: VerifyUnknown, Rules: stop}, State{Attempt: 1, Settled: true}, unknown, Decision{Reason: ReasonStopRule, Rule: 0, Max: 5}},
		{"known", Policy{OnUnknown: VerifyUnknown, Backoff: None}, State{Attempt: 1}, Failure{Types: []string{"Broken"}}, Decision{Retry: true, Reason: ReasonImmediate, Rule: -1, Max: 5}},
		{"pause", Policy{OnUnknown: PauseUnknown}, State{Attempt: 1}, unknown, Decision{Pause: true, Reason: ReasonUnknown, Rule: -1, Max: 5}},
		{"fail", Policy{OnUnknown: FailUnknown}, State{Attempt: 1}, unknown, Decision{Reason: ReasonUnknown, Rule: -1, Max: 5}},
		{"canceled", Policy{OnUnknown: FailUnknown}, State{Attempt: 1, Canceled: true}, unknown, Decision{Reason: ReasonCanceled, Rule: -1, Max: 5}},
		{"by rule", Policy{OnUnknown: FailUnknown, Rules: []Rule{Match{types: []string{"Broken"}}.OnUnknown(PauseUnknown)}}, State{Attempt: 1}, unknown, Decision{Pause: true, Reason: ReasonUnknown, Rule: 0, Max: 5}},
		{"not by another rule", Policy{OnUnknown: FailUnknown, Rules: []Rule{{Types: []string{"Other"}, OnUnknown: PauseUnknown}}}, State{Attempt: 1}, unknown, Decision{Reason: ReasonUnknown, Rule: -1, Max: 5}},
		{"timeouts stop", Policy{OnTimeout: StopOnTimeout}, State{Attempt: 1}, late, Decision{Reason: ReasonTimeout, Rule: -1, Max: 5}},
		{"unless settled", Policy{OnTimeout: StopOnTimeout, OnUnknown: VerifyUnknown, Backoff: None}, State{Attempt: 1, Settled: true}, late, Decision{Retry: true, Reason: ReasonImmediate, Rule: -1, Max: 5}},
	} {
		got := Decide(&c.policy, c.state, c.of, time.Time{}, 0.5)
		got.At = time.Time{}
		if got != c.want {
			t.Errorf("%s: %+v, not %+v", c.name, got, c.want)
		}
	}
}

// TestU6_TextOfOnUnknown goes through the notation and JSON and stays the same.
func TestU6_TextOfOnUnknown(t *testing.T) {
	for text, want := range map[string]Policy{
		"[retry: 3] [unknown: pause]":  {MaxAttempts: 4, Backoff: None, OnTimeout: StopOnTimeout, OnUnknown: PauseUnknown},
		"[retry: 3, unknown: fail]":    {MaxAttempts: 4, Backoff: None, OnTimeout: StopOnTimeout, OnUnknown: FailUnknown},
		"[retry: 0] [unknown: verify]": {MaxAttempts: 1, Backoff: None, OnTimeout: StopOnTimeout, OnUnknown: VerifyUnknown},
		"[retry: 1] [WorkerLost -> unknown: fail] [Timeout -> retry: 2, unknown: repeat]": {
			MaxAttempts: 2, Backoff: None, OnTimeout: StopOnTimeout, Rules: []Rule{
				{Types: []string{TypeWorkerLost}, OnUnknown: FailUnknown},
				{Types: []string{TypeTimeout}, MaxAttempts: 3, Backoff: None, OnUnknown: RepeatUnknown},
			},
		},
	} {
		got, err := Parse(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", text, got, err)
			continue
		}
		if again, err := Parse(got.String()); err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%s printed is %s: %+v, %v", text, got, again, err)
		}
		data, err := got.MarshalJSON()
		var read Policy
		if err != nil || read.UnmarshalJSON(data) != nil || !reflect.DeepEqual(read, want) {
			t.Errorf("%s in JSON is %s", text, data)
		}
	}
	for _, text := range []string{"[unknown: maybe]", "[retry: 1] [A -> stop, unknown: fail]", "[unknown: fail] [unknown: fail]", "[unknown]"} {
		if p, err := Parse(text); err == nil {
			t.Errorf("%s is accepted as %s", text, p)
		}
	}
	edited, err := Policy{MaxAttempts: 7}.Edit("[unknown: pause]")
	if err != nil || edited.OnUnknown != PauseUnknown || edited.MaxAttempts != 7 {
		t.Errorf("edited: %+v, %v", edited, err)
	}
}

// provider does the work, and sometimes loses the answer.
type provider struct {
	calls   int
	answers []Found[int] // of the questions, in turn; the last repeats
	fails   int          // questions that fail first
	asked   []Doubt
}

func (p *provider) charge(err error) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		p.calls++
		if p.calls == 1 {
			return 0, err
		}
		return 100 + p.calls, nil
	}
}

func (p *provider) find(_ context.Context, d Doubt) (Found[int], error) {
	p.asked = append(p.asked, d)
	if p.fails > 0 {
		p.fails--
		return Found[int]{}, errors.New("the books are closed")
	}
	answer := p.answers[0]
	if len(p.answers) > 1 {
		p.answers = p.answers[1:]
	}
	return answer, nil
}

// TestU8_DoAsksBeforeItRepeats is done without an engine.
func TestU8_DoAsksBeforeItRepeats(t *testing.T) {
	broken := Unknown(errors.New("connection reset"))
	for _, c := range []struct {
		name    string
		answers []Found[int]
		fails   int
		err     error
		value   int
		calls   int
		answer  []Answer // of all records
		took    time.Duration
	}{
		{"found", []Found[int]{Done(42)}, 0, broken, 42, 1, []Answer{"", "found"}, 5 * time.Second},
		{"absent", []Found[int]{Absent[int]()}, 0, broken, 102, 2, []Answer{"", "absent", ""}, 15 * time.Second},
		{"unknown, then found", []Found[int]{AskAgain[int](time.Minute), Done(7)}, 0, broken, 7, 1, []Answer{"", "unknown", "found"}, 65 * time.Second},
		{"the question fails, then absent", []Found[int]{Absent[int]()}, 2, broken, 102, 2, []Answer{"", "unknown", "unknown", "absent", ""}, 18 * time.Second},
		{"no answer is an error", []Found[int]{{}, Done(7)}, 0, broken, 7, 1, []Answer{"", "unknown", "found"}, 6 * time.Second},
		{"not in doubt", nil, 0, errors.New("declined"), 102, 2, []Answer{"", ""}, 10 * time.Second},
		{"not done", nil, 0, NotDone(broken), 102, 2, []Answer{"", ""}, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{answers: c.answers, fails: c.fails}
				var records []Record
				begun := time.Now()
				value, err := Value(t.Context(), Policy{MaxAttempts: 2, Backoff: Fixed(10 * time.Second), Jitter: NoJitter}, p.charge(c.err),
					Verify(p.find), SettleAfter(5*time.Second), VerifyRetry(Policy{Backoff: Exponential(time.Second, 2, 0), Jitter: NoJitter}), WithRecords(&records))
				if err != nil || value != c.value || p.calls != c.calls || time.Since(begun) != c.took {
					t.Errorf("it is %d after %d calls and %s, %v", value, p.calls, time.Since(begun), err)
				}
				var answers []Answer
				for i, r := range records {
					answers = append(answers, r.Answer)
					if r.Number != i+1 || (r.Answer != "") != (r.Question > 0) {
						t.Errorf("record %d is %+v", i, r)
					}
				}
				if !slices.Equal(answers, c.answer) {
					t.Errorf("on record is %q", answers)
				}
				for i, d := range p.asked {
					if d.Attempt != 1 || d.Question != i+1 || d.ID != records[0].ID || d.Outcome != "failed" || d.Err == nil || d.End.Before(d.Start) {
						t.Errorf("question %d was about %+v", i+1, d)
					}
				}
			})
		})
	}
}

// TestU8_WhatIsNotAnsweredIsNotRepeated ends with the attempt in the error.
func TestU8_WhatIsNotAnsweredIsNotRepeated(t *testing.T) {
	broken := Unknown(errors.New("connection reset"))
	forever := []Found[int]{AskAgain[int](time.Second)}
	for name, c := range map[string]struct {
		p        *provider
		policy   Policy
		opts     []Option
		question int
	}{
		"the questions fail":     {&provider{fails: 99}, Policy{}, []Option{VerifyRetry(Policy{MaxAttempts: 3, Backoff: None})}, 3},
		"their time is over":     {&provider{answers: forever}, Policy{}, []Option{VerifyRetry(Policy{Within: 4500 * time.Millisecond})}, 5},
		"nobody is asked":        {nil, Policy{OnUnknown: FailUnknown}, nil, 0},
		"the question is marked": {&provider{answers: []Found[int]{Done(1)}}, Policy{OnUnknown: FailUnknown}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := append(c.opts, WithName("charge"))
				if c.p != nil {
					opts = append(opts, Verify(c.p.find))
				} else {
					c.p = &provider{}
				}
				_, err := Value(t.Context(), c.policy, c.p.charge(broken), opts...)
				unknown, is := errors.AsType[*UnknownError](err)
				if !is || unknown.Attempt != 1 || unknown.ID == "" || unknown.Questions != c.question || !errors.Is(err, broken) || c.p.calls != 1 {
					t.Errorf("after %d calls: %#v", c.p.calls, err)
				}
				if TypeName(err) != TypeUnknown || !strings.HasPrefix(err.Error(), "charge: attempt 1 may have had its effect") {
					t.Errorf("%s: %s", TypeName(err), err)
				}
			})
		})
	}
}

// TestU8_AQuestionWithoutAContextHasNoAnswer: the derive hook fails for it, and what may have been
// done is asked about again.
func TestU8_AQuestionWithoutAContextHasNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, made := errors.New("no identity"), 0
		var records []Record
		err := Do(t.Context(), Policy{}, func(context.Context) error { return Unknown(errors.New("reset")) },
			WithDerive(func(ctx context.Context, _ AttemptInfo) (context.Context, error) {
				if made++; made == 2 {
					return nil, broken
				}
				return ctx, nil
			}), Verify(func(context.Context, Doubt) (Found[any], error) { return Done[any](nil), nil }), WithRecords(&records))
		if err != nil || len(records) != 3 || !errors.Is(records[1].Err, broken) || TypeName(records[1].Err) != TypeName(fmt.Errorf("the derive hook failed: %w", broken)) {
			t.Errorf("%v\n%+v", err, records)
		}
	})
}

// TestU8_DoRefusesWhatItCannotHonor, before the function is called.
func TestU8_DoRefusesWhatItCannotHonor(t *testing.T) {
	ask := Verify(func(context.Context, Doubt) (Found[int], error) { return Absent[int](), nil })
	for name, c := range map[string]struct {
		policy Policy
		opts   []Option
	}{
		"nobody to ask":       {Policy{OnUnknown: VerifyUnknown}, nil},
		"nor by a rule":       {Policy{Rules: []Rule{{Types: []string{"A"}, OnUnknown: VerifyUnknown}}}, nil},
		"no person":           {Policy{OnUnknown: PauseUnknown}, []Option{ask}},
		"a wait for nothing":  {Policy{}, []Option{SettleAfter(time.Second)}},
		"a policy for none":   {Policy{}, []Option{VerifyRetry(Policy{})}},
		"a negative wait":     {Policy{}, []Option{ask, SettleAfter(-1)}},
		"questions about one": {Policy{}, []Option{ask, VerifyRetry(Policy{OnUnknown: FailUnknown})}},
		"questions that wait": {Policy{}, []Option{ask, VerifyRetry(Policy{OnExhausted: Pause})}},
		"an invalid policy":   {Policy{}, []Option{ask, VerifyRetry(Policy{MaxAttempts: -1})}},
		"an unknown value":    {Policy{OnUnknown: 9}, nil},
	} {
		err := Do(t.Context(), c.policy, func(context.Context) error { t.Errorf("%s: called", name); return nil }, c.opts...)
		if _, is := errors.AsType[*ConfigError](err); !is {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := Value(t.Context(), Policy{MaxAttempts: 1}, func(context.Context) (string, error) { return "", Unknown(errors.New("gone")) },
		Verify(func(context.Context, Doubt) (Found[int], error) { return Done(1), nil }), VerifyRetry(Policy{MaxAttempts: 1}))
	if err == nil {
		t.Error("a result of another type is taken")
	}
}
