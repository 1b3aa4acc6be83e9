package retry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Doubt describes an attempt of unknown outcome to the Verify function. It is plain data.
type Doubt struct {
	// Attempt is the number of the attempt, and ID its ID, which the attempt had itself.
	Attempt int
	ID      string

	// Key is the idempotency key of the call, the same for all of its attempts; empty outside
	// the durable engine.
	Key string

	// Node is the process that ran the attempt, empty outside the durable engine.
	Node string

	// Start and End are when the attempt began and ended. End is the zero time if that is not
	// known, because its process was lost.
	Start, End time.Time

	// Outcome is how it ended: "failed", "timed-out", "lost" or "drained" (its process shut
	// down), as the ledger shows it. Err is its failure, nil if it was lost or drained.
	Outcome string
	Err     error

	// Question counts the questions about this attempt, from 1.
	Question int
}

// Answer is what a question about an attempt found. Its text is stable.
type Answer string

// The answers, as the ledger shows them.
const (
	AnswerFound   Answer = "found"   // the attempt had its effect
	AnswerAbsent  Answer = "absent"  // it had none
	AnswerUnknown Answer = "unknown" // that is still unknown
)

// Found is what a Verify function returns: make one with Done, Absent or AskAgain. The zero
// Found is not an answer, and counts as an error.
type Found[T any] struct {
	answer Answer
	result T
	after  time.Duration
}

// Done says that the attempt had its effect: the call completes with the result, and no
// attempt follows.
func Done[T any](result T) Found[T] { return Found[T]{answer: AnswerFound, result: result} }

// Absent says that the attempt had no effect and will have none. The policy decides what
// follows, as after any failure or loss.
func Absent[T any]() Found[T] { return Found[T]{answer: AnswerAbsent} }

// AskAgain says that it is still unknown, and asks for the next question after a time; zero
// means after the wait of the policy for questions.
func AskAgain[T any](after time.Duration) Found[T] {
	return Found[T]{answer: AnswerUnknown, after: after}
}

// Answer returns the answer, empty for the zero Found, the result of AnswerFound and the wait
// that AnswerUnknown asks for.
func (f Found[T]) Answer() (answer Answer, result T, after time.Duration) {
	return f.answer, f.result, f.after
}

// ErrNoAnswer is the error of a question whose function returned the zero Found.
var ErrNoAnswer = errors.New("the Verify function returned no answer; return retry.Done, retry.Absent or retry.AskAgain")

func init() { RegisterError("retry.ErrNoAnswer", ErrNoAnswer) }

// DefaultVerifyTimeout bounds a question whose policy has no AttemptTimeout.
const DefaultVerifyTimeout = time.Minute

// Verify is the option of Do and Value that finds out whether an attempt with an unknown
// outcome had its effect, before anything else is decided. f runs on the goroutine of the
// call. With Do the result of Done is ignored; with Value it must have the type of the value.
//
// A question never counts for MaxAttempts, nor does Within end it. If f fails, the policy of
// VerifyRetry decides when it is asked again; when that gives up, the call ends with an
// *UnknownError.
func Verify[T any](f func(context.Context, Doubt) (Found[T], error)) Option {
	ask := func(ctx context.Context, d Doubt) (Answer, any, time.Duration, error) {
		found, err := f(ctx, d)
		return found.answer, found.result, found.after, err
	}
	return Option{optionVerify, config{verification: verification{ask: ask}}}
}

// SettleAfter says how long a request of an attempt that has ended may still be under way. The
// first question waits for that long. Zero, the default, means no wait.
func SettleAfter(d time.Duration) Option {
	return Option{optionSettle, config{verification: verification{settle: d}}}
}

// VerifyRetry is the policy for questions that fail. The zero Policy is five questions with
// backoff from one second; its AttemptTimeout, one minute if it is zero, bounds each question.
func VerifyRetry(p Policy) Option {
	return Option{optionVerifyRetry, config{verification: verification{retry: &p}}}
}

// CheckVerifyRetry returns what is wrong with a policy for questions, nil if nothing is.
func CheckVerifyRetry(p Policy) error {
	switch {
	case p.OnUnknown != 0 || p.onUnknown(VerifyUnknown):
		return errors.New("OnUnknown is set in the policy for questions, which have no effect that could be in doubt; leave it zero")
	case p.OnExhausted == Pause:
		return errors.New("OnExhausted is Pause in the policy for questions; a call whose questions are used up is paused anyway, leave it zero")
	}
	return p.validate()
}

// verification is what the options say about questions.
type verification struct {
	ask    func(context.Context, Doubt) (answer Answer, result any, after time.Duration, err error)
	settle time.Duration
	retry  *Policy
}

// check refuses what cannot be honored.
func (v *verification) check(p *Policy) error {
	switch {
	case v.ask == nil && p.Verifies():
		return errNoVerify
	case v.ask == nil && (v.settle != 0 || v.retry != nil):
		return errors.New("SettleAfter and VerifyRetry are for questions, but there is no Verify function to ask")
	case v.settle < 0:
		return fmt.Errorf("SettleAfter is %s; allowed is zero or more", v.settle)
	case p.onUnknown(PauseUnknown):
		return errors.New("OnUnknown is PauseUnknown, which needs the durable engine: in process no operator can resume the call; use FailUnknown")
	case v.retry != nil:
		return CheckVerifyRetry(*v.retry)
	}
	return nil
}

// questions returns the policy for questions, with its timeout.
func (v *verification) questions() Policy {
	var p Policy
	if v.retry != nil {
		p = *v.retry
	}
	return QuestionPolicy(p)
}

// QuestionPolicy returns a policy for questions with the timeout that they have without one.
func QuestionPolicy(p Policy) Policy {
	p.AttemptTimeout = cmp.Or(p.AttemptTimeout, DefaultVerifyTimeout)
	return p
}

// NextQuestion decides when a question that found no answer is asked again, by the policy for
// questions. It is pure, as Decide is. s.Attempt counts the questions that failed, this one
// included, and s.First is when the first was due. err is nil if the function said AskAgain:
// then after, if it is not zero, is the wait, and the question is not charged. Without Retry
// in the decision there is no further question.
func NextQuestion(p *Policy, s State, after time.Duration, err error, now time.Time, u float64) Decision {
	s.Settled = true // a question has no effect that could be in doubt
	d := Decision{Retry: true, Rule: noRule}
	if err != nil {
		d = Decide(p, s, Classify(err), now, u)
	} else if d.Delay = after; after <= 0 {
		d.Delay = p.Jitter.Draw(p.Backoff, p.Backoff.Delay(1), 0, u)
	}
	d.Retry = d.Retry && !(p.bounded() && startsLate(s.First, now, d.Delay, p.Within))
	if !d.Retry {
		return Decision{Pause: true, Reason: ReasonUnknown, Rule: noRule, Max: d.Max}
	}
	d.Reason = ReasonVerify
	if d.At = now.Add(d.Delay); d.At.After(lastInstant) {
		d.At = lastInstant
	}
	return d
}

// verify asks the program whether an attempt that failed with err had its effect, until there
// is an answer. at becomes the question that has it. That of AnswerAbsent is not recorded yet.
func (c *call) verify(at *attempt, ended time.Time, err error) error {
	if at.id == "" {
		_, at.id = c.id.ids(at.number)
	}
	asked := *at
	c.record(asked, Record{End: ended, Err: err, Reason: ReasonVerify})
	doubt := Doubt{Attempt: asked.number, ID: asked.id, Start: asked.start, End: ended, Outcome: "failed", Err: err}
	if Classify(err).Timeout != "" {
		doubt.Outcome = "timed-out"
	}
	policy := c.verification.questions()
	wait := time.Until(ended.Add(c.verification.settle))
	state := State{First: ended.Add(c.verification.settle)}
	for doubt.Question = 1; ; doubt.Question++ {
		if !c.wait(wait) {
			c.ended = ReasonCanceled
			return c.aborted(asked.number, PhaseBackoff, err)
		}
		c.free++
		*at = attempt{number: at.number + 1, start: time.Now(), question: doubt.Question}
		after := c.question(&policy, at, doubt)
		now := time.Now()
		switch {
		case at.answer == AnswerAbsent:
			return nil
		case at.answer == AnswerFound:
			c.ended = ReasonFound
			c.record(*at, Record{End: now, Reason: ReasonFound})
			return nil
		case at.fault != nil:
			state.Attempt++
		}
		d := NextQuestion(&policy, state, after, at.fault, now, c.draw())
		c.record(*at, Record{End: now, Delay: d.Delay, Reason: d.Reason})
		if !d.Retry {
			c.ended = d.Reason
			return c.unknown(asked, ended, doubt.Question, err)
		}
		wait, state.Previous = d.Delay, d.Delay
	}
}

// question asks once, and notes the answer or why there is none.
func (c *call) question(p *Policy, at *attempt, doubt Doubt) (after time.Duration) {
	at.fault = c.execute(p, at, func(ctx context.Context) (err error) {
		var result any
		at.answer, result, after, err = c.verification.ask(ctx, doubt)
		switch {
		case err != nil:
			return err
		case at.answer == "":
			return ErrNoAnswer
		case at.answer == AnswerFound && c.found != nil:
			return c.found(result)
		}
		return nil
	})
	if halt, is := at.fault.(*haltError); is {
		at.fault = halt.cause // the call does not end: what may have been done is not known yet
	}
	if at.fault != nil {
		at.answer = AnswerUnknown
	}
	return after
}

// unknown is what a call returns that ended without knowing.
func (c *call) unknown(at attempt, ended time.Time, questions int, err error) error {
	if at.id == "" {
		_, at.id = c.id.ids(at.number)
	}
	return &UnknownError{Name: c.name, Attempt: at.number, ID: at.id, Start: at.start, End: ended, Questions: questions, Err: err}
}
