package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/flow/eval"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/retry"
)

// Secrets lets files refer to secrets with secret("NAME"). An attempt of an action calls
// lookup for the value when it begins; the value is stored in no run and no database, and
// is masked in results and errors of the action. By default there are no secrets.
//
// Calls that need a secret wait for a process that has it: if there are names, one with
// the name, else any with a lookup. A secret that lookup then does not find fails the
// attempt with SecretError, for good.
func Secrets(lookup func(name string) (value string, ok bool), names ...string) Option {
	return func(s *settings) { s.secrets, s.names = lookup, names }
}

// secretError is the type of the error that a secret is not there.
const secretError = "SecretError"

// withSecrets is the body of an action that learns secrets when an attempt begins.
func withSecrets(name string, run body, lookup func(name string) (string, bool)) body {
	find := func(name string) (string, error) {
		if value, ok := lookup(name); ok {
			return value, nil
		}
		return "", &ActionError{secretError, fmt.Errorf("the secret %s is not there where the attempt ran: set it in the environment of that process, and allow it: --secret %s %s", name, name, see.FlowSecrets)}
	}
	if name == "log" { // it shows what it gets
		find = func(string) (string, error) { return eval.Masked, nil }
	}
	return func(ctx context.Context, decode func(into any) error) (any, error) {
		var values []string
		out, err := run(ctx, func(into any) error {
			var args json.RawMessage
			if err := decode(&args); err != nil {
				return err
			}
			plain, found, err := eval.Reveal(args, find)
			if err != nil {
				return err
			}
			if values = found; values == nil {
				return decode(into)
			}
			return json.Unmarshal(plain, into)
		})
		if values == nil {
			return out, err
		}
		return masked(out, err, values)
	}
}

// masked is what an action came to, without the values of secrets.
func masked(out any, err error, values []string) (any, error) {
	if err != nil {
		return nil, maskedError(err, values)
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, retry.Terminal(errors.New("the result cannot be encoded; return what JSON can hold"))
	}
	v, err := eval.DecodeResult(data)
	if err != nil {
		return nil, retry.Terminal(err)
	}
	shown, err := eval.Encode(eval.Mask(v, values))
	return json.RawMessage(shown), err
}

// maskedError is an error of the same types, and with the same wishes for the next
// attempt, whose text has no secret.
func maskedError(err error, values []string) error {
	text := err.Error()
	shown := eval.MaskText(text, values)
	if shown == text && !holds(err, values) {
		return err
	}
	failure := retry.Classify(err)
	out := errors.New(shown)
	for i := len(failure.Types) - 1; i >= 0; i-- {
		out = &ActionError{failure.Types[i], out}
	}
	if failure.Asked && failure.At.IsZero() {
		out = retry.After(out, failure.After)
	}
	if failure.Terminal {
		out = retry.Terminal(out)
	}
	return out
}

// holds reports whether an error has secrets in what is recorded beside its text.
func holds(err error, values []string) bool {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if data, err := json.Marshal(e); err == nil && eval.MaskText(string(data), values) != string(data) {
			return true
		}
	}
	return false
}
