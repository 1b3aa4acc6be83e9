package core

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// PinIn is the build on which a run with these turns stays, empty if it may go on with any.
// What it began with, of another run, does not count.
func PinIn(start *history.Start, turns []StoredTurn) string {
	for _, t := range slices.Backward(turns) {
		if t.Number <= start.Base.LastCut() {
			break
		}
		for _, e := range slices.Backward(t.Events) {
			if build, is := PinOf(&e); is {
				return build
			}
		}
	}
	return ""
}

// PinOf is the build on which a run stays from an event on, if the event says so.
func PinOf(e *history.Event) (build string, is bool) {
	moved := e.Kind == history.RunControlled && e.Outcome == Applied && Operation(e.Operation) == MoveTheRun
	return e.Name, moved || e.Kind == history.RunPinned
}

// moveRun lets the run stay on another build from now on.
func (r *Run) moveRun(in Control) {
	outcome, why := WouldMove(r.pin, &in)
	switch {
	case outcome == Applied:
		why = "from build " + r.pin
	case r.pin == "":
		why += ": its workflow is not workflow.Pinned, or was not when it began, or its code has not begun"
	}
	r.answerRun(in, outcome, why)
}

// WouldMove is what comes of asking a run that stays on a build to move, and why it does not.
func WouldMove(pin string, in *Control) (outcome, why string) {
	switch {
	case pin == "":
		return Refused, "it stays on no build"
	case pin == in.To:
		return Unchanged, "it stays on this build already"
	case in.From != "" && pin != in.From:
		return Refused, "it stays on build " + pin
	}
	return Applied, ""
}

// pinBegin lets a run stay on the build with which its code begins, if that is asked for.
func (r *Run) pinBegin() {
	if r.config.Build != "" && r.pin == "" {
		r.happened(history.Event{Kind: history.RunPinned, Name: r.config.Build})
	}
}

// applyPin applies an event that may say on which build the run stays from then on.
func (r *Run) applyPin(e *history.Event) {
	if build, is := PinOf(e); is && (r.out != nil || r.turn > r.start.Base.LastCut()) {
		r.pin, r.pinChanged = build, true
	}
}
