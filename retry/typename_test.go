package retry_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/perdure/perdure/retry"
)

// An error whose ErrorType is empty only adds something to what it wraps; one
// that wraps nothing has the name of its Go type.
func TestR11_EmptyErrorTypeIsSeenThrough(t *testing.T) {
	for _, c := range []struct {
		err  error
		want []string
	}{
		{&textError{cause: io.EOF}, []string{"EOF"}},
		{fmt.Errorf("a: %w", &textError{cause: fmt.Errorf("b: %w", io.EOF)}), []string{"EOF"}},
		{&textsError{causes: []error{io.EOF, errors.New("plain")}}, []string{"EOF", retry.TypeError}},
		{&textError{}, []string{"retry_test.textError"}},
		{&textsError{}, []string{"retry_test.textsError"}},
	} {
		if got := retry.Classify(c.err).Types; !slices.Equal(got, c.want) {
			t.Errorf("%#v has the types %q, want %q", c.err, got, c.want)
		}
	}
	if name := retry.TypeName(&textError{cause: io.EOF}); name != retry.TypeError {
		t.Errorf("TypeName is %q", name)
	}
}

type textError struct{ cause error }

func (e *textError) Error() string     { return "text" }
func (e *textError) ErrorType() string { return "" }
func (e *textError) Unwrap() error     { return e.cause }

type textsError struct{ causes []error }

func (e *textsError) Error() string     { return "texts" }
func (e *textsError) ErrorType() string { return "" }
func (e *textsError) Unwrap() []error   { return e.causes }
