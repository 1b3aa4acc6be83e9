package core

import (
	"fmt"
	"maps"

	"github.com/perdure/perdure/internal/history"
)

// SetAttribute gives the run an attribute, by which it is found as soon as the turn is
// durable, as are the runs that follow it in its chain. One that it has already is not
// put on record again. An attribute that cannot be is refused, and nothing is on record.
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

// RemoveAttribute takes an attribute away, if the run has it.
func (r *Run) RemoveAttribute(name string) {
	if _, has := r.attributes[name]; has {
		r.command(history.Event{Kind: history.AttributeRemoved, Name: name})
	}
}

// applyAttribute changes the attributes of the run. The map may be that of a start
// event, which must not be written to.
func (r *Run) applyAttribute(e *history.Event) {
	changed := maps.Clone(r.attributes)
	if changed == nil {
		changed = map[string]string{}
	}
	if e.Kind == history.AttributeRemoved {
		delete(changed, e.Name)
	} else {
		var value string
		_ = e.Input.Decode(&value) // a text is what was recorded
		changed[e.Name] = value
	}
	r.attributes = changed
	if r.out != nil {
		r.out.Attributes = changed
	}
}

// catchUp puts into the first turn of a run that began with the history of another one
// the attributes that its code had set there: the row has those of the start.
func (r *Run) catchUp() {
	if r.turn == r.start.Base.LastCut() && !maps.Equal(r.attributes, r.start.Attributes) {
		r.out.Attributes = r.attributes
	}
}
