package core

import (
	"fmt"

	"github.com/perdure/perdure/internal/history"
)

// SetAttribute sets an attribute of the run. Once the turn is durable, the run and its
// successors are found by it. Setting the same value again records nothing. An invalid
// attribute returns an error and records nothing.
func (r *Run) SetAttribute(name, value string) error {
	if err := history.CheckAttribute(name, value); err != nil {
		return err
	}
	have, has := r.attributes[name]
	switch {
	case has && have == value:
		return nil
	case !has && len(r.attributes) >= history.MaxAttributes:
		return &history.InputError{What: fmt.Sprintf("attribute %q", name), Problem: fmt.Sprintf("is one too many; a run has at most %d", history.MaxAttributes)}
	}
	encoded, err := history.Encode(value)
	if err != nil {
		return err
	}
	r.command(history.Event{Kind: history.AttributeSet, Name: name, Input: encoded})
	return nil
}

// RemoveAttribute removes an attribute, if the run has it.
func (r *Run) RemoveAttribute(name string) {
	if _, has := r.attributes[name]; has {
		r.command(history.Event{Kind: history.AttributeRemoved, Name: name})
	}
}
