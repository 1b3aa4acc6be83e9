package history

import (
	"errors"
	"fmt"
	"testing"
)

type wrapsItself struct{}

func (e *wrapsItself) Error() string { return "again" }

func (e *wrapsItself) Unwrap() []error { return []error{e, e} }

type panics struct{}

func (*panics) Error() string { panic("Error") }
func (*panics) Unwrap() error { panic("Unwrap") }

func TestI13_SearchSurvivesHostileErrors(t *testing.T) {
	target := errors.New("target")
	is := func(err error) bool { return err == target }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{target, true},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", target)), true},
		{errors.Join(errors.New("other"), target), true},
		{errors.Join(&panics{}, &wrapsItself{}), false},
		{errors.Join(&panics{}, target), true},
		{&wrapsItself{}, false},
	} {
		if got := Search(c.err, is); got != c.want {
			t.Errorf("%T: %t", c.err, got)
		}
	}
}
