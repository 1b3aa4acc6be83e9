package history

import (
	"errors"
	"fmt"
)

// DamageError says that something on record cannot be read: it has other bytes than
// were written, or a newer version has written it.
type DamageError struct {
	Turn  int64  // of a history, 0 if it is none
	Part  string // what cannot be read if it is no turn, such as "the start event"
	Newer bool   // a newer version may have written it
	Coded bool   // it is encoded, and this program cannot decode it
	Err   error  // what is wrong
}

// ErrMissing is what is wrong with a turn that is not there.
var ErrMissing = errors.New("is missing")

func (e *DamageError) Error() string {
	switch what := e.what(); {
	case what == "":
		return e.Err.Error()
	case errors.Is(e.Err, ErrMissing):
		return fmt.Sprintf("%s %v", what, e.Err)
	case e.Newer, e.Coded:
		return fmt.Sprintf("%s cannot be read: %v", what, e.Err)
	default:
		return fmt.Sprintf("%s is damaged: %v", what, e.Err)
	}
}

func (e *DamageError) Unwrap() error { return e.Err }

func (e *DamageError) what() string {
	if e.Turn != 0 {
		return fmt.Sprintf("turn %d", e.Turn)
	}
	return e.Part
}

// damaged says what is wrong with bytes whose place the caller knows.
func damaged(format string, args ...any) error {
	return &DamageError{Err: fmt.Errorf(format, args...)}
}

// Damaged returns an error that says which part of the record the error, which is one of
// reading it, is about. It is a *DamageError; nil is no error.
func Damaged(part string, err error) error {
	if err == nil {
		return nil
	}
	d := DamageError{Err: err}
	if within, is := errors.AsType[*DamageError](err); is {
		d.Newer, d.Coded, d.Err = within.Newer, within.Coded, within.Err
	}
	d.Part = part
	return &d
}

// DamagedTurn is Damaged of a turn.
func DamagedTurn(turn int64, err error) error {
	if err == nil {
		return nil
	}
	d := Damaged("", err).(*DamageError)
	d.Turn = turn
	return d
}

// checkFormat refuses what a newer version has written than the newest that is read there.
func checkFormat(v, newest int) error {
	if v >= 1 && v <= newest {
		return nil
	}
	return &DamageError{Newer: true, Err: fmt.Errorf(
		"history format %d is not known to this program, which reads formats 1 to %d; run a newer version, or the bytes are damaged", v, newest)}
}

// checkKinds refuses events whose kind is not known: to pass over one would change what
// the code sees.
func checkKinds(events []Event) error {
	for i := range events {
		if k := events[i].Kind; !k.known() {
			return &DamageError{Newer: true, Err: fmt.Errorf(
				"its event %d is of the kind %q, which is not known in history format %d; run a newer version, or the bytes are damaged", i+1, k, Stored)}
		}
	}
	return nil
}
