package core

import (
	"slices"

	"github.com/perdure/perdure/internal/history"
)

// PinIn returns the build to which a run with these turns is pinned, empty for none. It
// ignores copied history of another run.
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

// PinOf returns the build to which an event pins its run, if it does.
func PinOf(e *history.Event) (build string, is bool) {
	moved := e.Kind == history.RunControlled && e.Outcome == Applied && Operation(e.Operation) == MoveTheRun
	return e.Name, moved || e.Kind == history.RunPinned
}

// WouldMove returns the outcome of a move request for a run with this pin, and why the run
// does not move.
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
