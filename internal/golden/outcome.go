package golden

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/errname"
	"github.com/perdure/perdure/retry"
)

// TypedError is an error of the table with a type name of its own.
type TypedError struct {
	// Name is what ErrorType returns.
	Name string

	// Err is what it wraps, nil if nothing.
	Err error
}

// Error returns a text made of the name.
func (e *TypedError) Error() string {
	if e.Err != nil {
		return strings.ToLower(e.Name) + ": " + e.Err.Error()
	}
	return strings.ToLower(e.Name)
}

// ErrorType returns the name.
func (e *TypedError) ErrorType() string { return e.Name }

// Unwrap returns what it wraps.
func (e *TypedError) Unwrap() error { return e.Err }

// mustError is parseError for an expression that Parse has checked.
func mustError(expr string, first time.Time) error {
	err, parseErr := parseError(expr, first)
	if parseErr != nil {
		panic(parseErr)
	}
	return err
}

// parseError makes the error that an expression describes.
func parseError(expr string, first time.Time) (error, error) {
	expr = strings.TrimSpace(expr)
	name, args, err := splitCall(expr)
	if err != nil {
		return nil, err
	}
	switch name {
	case "after", "at":
		if len(args) != 2 {
			return nil, fmt.Errorf("%s needs a duration and an error: %q", name, expr)
		}
		d, err := time.ParseDuration(args[0])
		if err != nil {
			return nil, err
		}
		inner, err := parseError(args[1], first)
		if err != nil {
			return nil, err
		}
		if name == "at" {
			return retry.AfterTime(inner, first.Add(d)), nil
		}
		return retry.After(inner, d), nil
	}
	inner := make([]error, len(args))
	for i, arg := range args {
		if inner[i], err = parseError(arg, first); err != nil {
			return nil, err
		}
	}
	return makeError(expr, name, inner)
}

// makeError makes an error of a name and the errors it is made of.
func makeError(expr, name string, inner []error) (error, error) {
	switch name {
	case "join":
		return errors.Join(inner...), nil
	case "wrap", "terminal", "panic":
		if len(inner) != 1 {
			return nil, fmt.Errorf("%s needs one error: %q", name, expr)
		}
	}
	switch name {
	case "wrap":
		return fmt.Errorf("wrapped: %w", inner[0]), nil
	case "terminal":
		return retry.Terminal(inner[0]), nil
	case "panic":
		return retry.NewPanicError(inner[0]), nil
	}
	if len(inner) > 1 || name == "" || name == "ok" {
		return nil, fmt.Errorf("%q is not an outcome", expr)
	}
	if len(inner) == 1 {
		return &TypedError{Name: name, Err: inner[0]}, nil
	}
	if sentinel, ok := errname.Sentinel(name); ok {
		return sentinel, nil
	}
	switch name {
	case retry.TypeError:
		return errors.New("plain error"), nil
	case retry.TypeQueueTimeout:
		return &retry.TimeoutError{Kind: retry.TimeoutQueue}, nil
	}
	return &TypedError{Name: name}, nil
}

// splitCall splits "name(a, b(c, d))" into the name and the arguments.
func splitCall(expr string) (name string, args []string, err error) {
	name, rest, ok := strings.Cut(expr, "(")
	if !ok {
		return expr, nil, nil
	}
	body, ok := strings.CutSuffix(rest, ")")
	if !ok {
		return "", nil, fmt.Errorf("the parentheses of %q do not match", expr)
	}
	depth, start := 0, 0
	for i, c := range body {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		case ',':
			if depth == 0 {
				args = append(args, strings.TrimSpace(body[start:i]))
				start = i + 1
			}
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 {
		return "", nil, fmt.Errorf("the parentheses of %q do not match", expr)
	}
	return name, append(args, strings.TrimSpace(body[start:])), nil
}
