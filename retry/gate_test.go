package retry

import (
	"context"
	"errors"
	"testing"
	"time"
)

// unreasonable is a gate that refuses and does not say why.
type unreasonable struct{ left *Reason }

func (unreasonable) Enter(context.Context, GateAsk) (bool, error) {
	return false, &RefusedError{Gate: "mine"}
}
func (unreasonable) Retry(int, time.Time) bool { return true }
func (u unreasonable) Leave(r Reason)          { *u.left = r }

// TestR46_ARefusalWithoutAReasonIsOne, and not a call that is set up wrongly.
func TestR46_ARefusalWithoutAReasonIsOne(t *testing.T) {
	left := Reason("?")
	var records []Record
	err := Do(t.Context(), Policy{}, func(context.Context) error { return nil }, WithGates(func() (Gates, error) { return unreasonable{&left}, nil }), WithRecords(&records))
	if _, is := errors.AsType[*ExhaustedError](err); !is || left != "" || len(records) != 1 {
		t.Errorf("%T %v, %q, %d records", err, err, left, len(records))
	}
}
