package history

import (
	"encoding/json"
	"errors"
	"fmt"
)

// DamageError says that part of the record cannot be read: its bytes have changed, or a
// newer version wrote it.
type DamageError struct {
	Turn  int64  // of a history; 0 if Part says what it is
	Part  string // what cannot be read if it is not a turn, such as "the start event"
	Newer bool   // a newer version may have written it
	Coded bool   // it is encoded, and this program cannot decode it
	Err   error  // what is wrong
}

// ErrMissing says that a turn is missing.
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

// damaged describes a problem with bytes whose place the caller adds.
func damaged(format string, args ...any) error {
	return &DamageError{Err: fmt.Errorf(format, args...)}
}

// Damaged returns a *DamageError that says which part of the record a read error is about.
// It returns nil if err is nil.
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

// DamagedTurn is Damaged for a turn.
func DamagedTurn(turn int64, err error) error {
	if err == nil {
		return nil
	}
	d := Damaged("", err).(*DamageError)
	d.Turn = turn
	return d
}

// checkFormat returns an error for a format that this program does not read.
func checkFormat(v int) error {
	if v == Format {
		return nil
	}
	return &DamageError{Newer: true, Err: fmt.Errorf(
		"history format %d is not known to this program, which reads format %d; run a newer version, or the bytes are damaged", v, Format)}
}

// newer returns an error for a document of a later format than this program reads, else nil.
func newer(doc []byte) error {
	if v := formatOf(doc); v > Format {
		return checkFormat(v)
	}
	return nil
}

// formatOf returns the format that a document names, 0 if it names none.
func formatOf(doc []byte) int {
	var d struct {
		Format int `json:"v"`
	}
	if json.Unmarshal(doc, &d) != nil {
		return 0
	}
	return d.Format
}

// checkKinds returns an error for events of unknown kind: skipping one would change what
// the code sees.
func checkKinds(events []Event) error {
	for i := range events {
		if k := events[i].Kind; !k.known() {
			return &DamageError{Newer: true, Err: fmt.Errorf(
				"its event %d is of the kind %q, which is not known in history format %d; run a newer version, or the bytes are damaged", i+1, k, Format)}
		}
	}
	return nil
}
