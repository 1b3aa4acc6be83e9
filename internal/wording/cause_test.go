package wording_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

type declined struct{}

func (*declined) Error() string { return "the card was declined" }

// failureOf is an error as a description shows it.
func failureOf(err error) *view.Failure {
	f := &view.Failure{Message: err.Error()}
	switch err.(type) {
	case *declined:
		f.Type = "declined"
	case *retry.ExhaustedError:
		f.Type = retry.TypeExhausted
	}
	if inner := errors.Unwrap(err); inner != nil {
		f.Causes = []*view.Failure{failureOf(inner)}
	}
	return f
}

// TestF12_EveryCauseIsSaid: whatever kind of error ended a call, and however it is wrapped, the
// text of its failure has the innermost message and each type, and nothing twice.
func TestF12_EveryCauseIsSaid(t *testing.T) {
	gaveUp := func(err error) error {
		return &retry.ExhaustedError{Name: "charge", Attempts: 2, Reason: retry.ReasonMaxAttempts, Err: err}
	}
	plain, typed := errors.New("the bank is down"), &declined{}
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"plain":                       {plain, []string{"the bank is down"}},
		"gave up":                     {gaveUp(plain), []string{"gave up after 2 attempts", "the bank is down"}},
		"gave up, typed":              {gaveUp(typed), []string{"gave up after 2 attempts", "declined: the card was declined"}},
		"wrapped":                     {fmt.Errorf("order: %w", plain), []string{"order: the bank is down"}},
		"wrapped give-up":             {fmt.Errorf("order: %w", gaveUp(plain)), []string{"order: charge: gave up after 2 attempts (max attempts): the bank is down"}},
		"wrapped twice":               {fmt.Errorf("order: %w", fmt.Errorf("pay: %w", typed)), []string{"order: pay: the card was declined", "declined: the card was declined"}},
		"gave up on what was wrapped": {gaveUp(fmt.Errorf("dial: %w", plain)), []string{"gave up after 2 attempts", "dial: the bank is down"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, one := range wording.Causes(failureOf(c.err)) {
				got = append(got, wording.Typed(one.Type, one.Message))
			}
			if !slices.EqualFunc(got, c.want, strings.Contains) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
