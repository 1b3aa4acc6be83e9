package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
)

// Body returns what an attempt of an activity runs, nil if it is not registered.
func (r *Registry) Body(of *core.Dispatch) seal.Body {
	def := r.activities[of.Name]
	if def == nil {
		return nil
	}
	if of.Doubt != nil {
		return r.verification(def, of)
	}
	name, input := of.Name, of.Input // so that the closure does not retain all of d
	return func(ctx context.Context) (history.Payload, error) {
		out, err := def.Invoke(ctx, input.Decode)
		if err != nil {
			return history.Payload{}, err
		}
		return encoded(name, out)
	}
}

func encoded(activity string, out any) (history.Payload, error) {
	result, err := history.Encode(out)
	if err != nil {
		return history.Payload{}, retry.Terminal(fmt.Errorf("the result of activity %q: %w", activity, err))
	}
	return result, nil
}

// verification returns what a question about an attempt runs.
func (r *Registry) verification(def *seal.ActivityDeclaration, of *core.Dispatch) seal.Body {
	if of.VerifyBy != nil {
		return r.verificationBy(of.Name, of.VerifyBy)
	}
	name, input, about := of.Name, of.Input, *of.Doubt
	if def.Options.Verify == nil || def.Options.Verify.Ask == nil {
		return func(context.Context) (history.Payload, error) {
			return history.Payload{}, fmt.Errorf("activity %q: %w", name, errNobodyToAsk)
		}
	}
	return func(ctx context.Context) (history.Payload, error) {
		answer, out, after, err := def.Options.Verify.Ask(ctx, input.Decode, doubt(ctx, &about))
		switch {
		case err != nil:
			return history.Payload{}, err
		case answer == retry.AnswerFound:
			return encoded(name, out)
		case answer == "":
			return history.Payload{}, retry.ErrNoAnswer
		}
		seal.AttemptIn(ctx).SetAnswer(answer, after)
		return history.Payload{}, nil
	}
}

// verificationBy returns what a question runs that another activity answers. Null says that the
// attempt had no effect; anything else is the result that it had.
func (r *Registry) verificationBy(name string, by *history.VerifyBy) seal.Body {
	def := r.activities[by.Activity]
	return func(ctx context.Context) (history.Payload, error) {
		if def == nil {
			return history.Payload{}, fmt.Errorf("activity %q, by %q: %w", name, by.Activity, errNobodyToAsk)
		}
		out, err := def.Invoke(ctx, by.Input.Decode)
		if err != nil {
			return history.Payload{}, err
		}
		result, err := encoded(name, out)
		if err == nil && bytes.Equal(result.Data, []byte("null")) {
			seal.AttemptIn(ctx).SetAnswer(retry.AnswerAbsent, 0)
			return history.Payload{}, nil
		}
		return result, err
	}
}

// errNobodyToAsk is the failure of a question in a process whose code has no Verify function.
// Another process may have one.
var errNobodyToAsk = errors.New("the code of this process has no Verify function to ask; deploy code that declares one, or decide by hand " + see.Unknown)

// doubt returns an attempt in doubt as its Verify function sees it.
func doubt(ctx context.Context, d *core.Doubt) retry.Doubt {
	seen := retry.Doubt{
		Attempt: d.Attempt, ID: d.ID, Key: activity.IdempotencyKey(ctx), Node: d.Node,
		Start: time.Unix(0, d.Started), Outcome: string(d.Outcome), Err: d.Failure.Err(), Question: d.Question,
	}
	if d.Ended != 0 {
		seen.End = time.Unix(0, d.Ended)
	}
	return seen
}
