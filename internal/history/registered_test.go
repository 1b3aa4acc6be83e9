package history_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Registered types as people write them: one says itself what it is called, or
// that it only adds text; the others show what they wrap in a field.
type (
	typedError struct {
		Kind  string
		Limit int
		Err   error `json:"-"`
	}
	causedError struct {
		Step string
		Err  error `json:"-"`
	}
	causedValue struct {
		Step string
		Err  error `json:"-"`
	}
	manyError struct {
		Step string
		Errs []error `json:"-"`
	}
)

var errTyped error = &typedError{Kind: "Closed"}

func (e *typedError) Error() string     { return fmt.Sprint("typed ", e.Kind, e.Limit, e.Err) }
func (e *typedError) ErrorType() string { return e.Kind }
func (e *typedError) Unwrap() error     { return e.Err }
func (e *causedError) Error() string    { return fmt.Sprint(e.Step, ": ", e.Err) }
func (e *causedError) Unwrap() error    { return e.Err }
func (e causedValue) Error() string     { return fmt.Sprint(e.Step, ": ", e.Err) }
func (e causedValue) Unwrap() error     { return e.Err }
func (e *manyError) Error() string      { return fmt.Sprint(e.Step, ": ", e.Errs) }
func (e *manyError) Unwrap() []error    { return e.Errs }

func init() {
	retry.RegisterErrorType[*typedError]("history_test.Typed")
	retry.RegisterErrorType[*causedError]("history_test.Caused")
	retry.RegisterErrorType[causedValue]("history_test.CausedValue")
	retry.RegisterErrorType[*manyError]("history_test.Many")
	retry.RegisterError("history_test.ErrTyped", errTyped)
}

// What a registered type shows of its cause in a field is there again.
func TestE4_CausesAreBackInTheirFields(t *testing.T) {
	back := func(err error) error { return stored(t, history.FromError(err)).Err() }
	if e, ok := back(&causedError{"pay", errDeclined}).(*causedError); !ok || e.Step != "pay" || e.Err != errDeclined {
		t.Errorf("%+v", e)
	}
	if e, ok := back(causedValue{"pay", errDeclined}).(causedValue); !ok || e.Step != "pay" || e.Err != errDeclined {
		t.Errorf("%+v", e)
	}
	if e, ok := back(&manyError{"all", []error{errDeclined, errTyped}}).(*manyError); !ok || len(e.Errs) != 2 || e.Errs[1] != errTyped {
		t.Errorf("%+v", e)
	}
	if e := back(errTyped); e != errTyped || retry.TypeName(e) != "Closed" {
		t.Errorf("%+v", e)
	}
}

// A failure of before there were names beside types is read as it was meant.
func TestE4_FailuresWithoutNamesAreRead(t *testing.T) {
	f := &history.Failure{Type: "history_test.Quota", Message: "x", Form: "value", Data: []byte(`{"Limit":3}`)}
	if e, ok := errors.AsType[*quotaError](stored(t, f).Err()); !ok || e.Limit != 3 {
		t.Errorf("%v", f.Err())
	}
	f = &history.Failure{Type: "history_test.Declined", Message: "x", Form: "sentinel"}
	if err := stored(t, f).Err(); err != errDeclined {
		t.Errorf("%v", err)
	}
}
