package wording

import (
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/view"
)

// Compared says in how far two runs went alike.
func Compared(c *view.Comparison) string {
	text := "They have the same input"
	if !c.SameInput {
		text = "They have different inputs"
	}
	switch {
	case c.Alike == 0 && len(c.Calls) == 0:
		return text + ", and made no activities and steps."
	case len(c.Calls) == 0:
		return text + ", and all went alike: " + human.Plural(c.Alike, "activity or step", "activities and steps") + "."
	case c.Alike == 0:
		return text + ", and no activity or step went alike."
	}
	return text + ", and " + human.Plural(c.Alike, "activity or step", "activities and steps") + " went alike. These did not:"
}

// StepOf names what two runs did under one number.
func StepOf(p *view.CallPair) string {
	switch {
	case p.A == nil:
		return p.B.Name
	case p.Parted():
		return p.A.Name + " / " + p.B.Name
	}
	return p.A.Name
}

// Went says how a call went.
func Went(c *view.CallAttempts) string {
	if c == nil {
		return "not made"
	}
	text := c.Outcome
	if c.ErrorType != "" {
		text += " with " + c.ErrorType
	}
	text += ", " + human.Plural(c.Attempts, "attempt", "attempts")
	if c.First != nil && c.Last != nil {
		text += " in " + human.Took(c.Last.Sub(*c.First))
	}
	return text
}

// Lasted says how long a run took, "" while it is open.
func Lasted(r *view.Run) string {
	if r.Closed == nil {
		return ""
	}
	return human.Took(max(r.Closed.Sub(r.Created), 0))
}
