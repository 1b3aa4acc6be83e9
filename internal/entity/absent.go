package entity

import (
	"fmt"

	"github.com/perdure/perdure/store"
)

// Absent is the error for a gate or schedule that is not in the database. It is
// store.ErrNotFound, whose text is about runs, without saying so.
type Absent struct {
	Kind Kind
	Name string
	Note string // why it may not be there; empty if there is nothing to say
}

func (a *Absent) Error() string {
	text := fmt.Sprintf("there is no %s %q", a.Kind, a.Name)
	if a.Note != "" {
		text += ": " + a.Note
	}
	return text
}

// Is reports whether target is store.ErrNotFound.
func (a *Absent) Is(target error) bool { return target == store.ErrNotFound }
