package core

import (
	"fmt"
	"maps"

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

// applyAttribute changes the attributes of the run. It copies the map, which may be that of
// a start event and must not be modified.
func (r *Run) applyAttribute(e *history.Event) {
	changed := maps.Clone(r.attributes)
	if changed == nil {
		changed = map[string]string{}
	}
	if e.Kind == history.AttributeRemoved {
		delete(changed, e.Name)
	} else {
		var value string
		_ = e.Input.Decode(&value) // what was recorded is a string
		changed[e.Name] = value
	}
	r.attributes = changed
	if r.journal.out != nil {
		r.journal.out.Attributes = changed
	}
}

// catchUp adds to the first turn of a reset or forked run the attributes that the code had
// set in the copied history. The row has only those of the start event.
func (r *Run) catchUp() {
	if r.journal.turn == r.journal.start.Base.LastCut() && !maps.Equal(r.attributes, r.journal.start.Attributes) {
		r.journal.out.Attributes = r.attributes
	}
}
