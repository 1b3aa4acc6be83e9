package dashboard

import "github.com/perdure/perdure/view"

// tones classify states: good, bad, busy (continues by itself), held (waits for a person or
// for code), calm. They are classes in the style sheet; a glyph and the word convey the
// same without colours.
var tones = map[string]string{
	view.StatusCompleted: "good", view.StatusFailed: "bad", view.StatusTimedOut: "bad", view.StatusTerminated: "bad",
	view.StatusCanceled: "calm", view.StatusContinued: "calm", view.StatusRunning: "busy",
	view.StatusPaused: "held", view.StatusParked: "held", view.StatusWaitingForCode: "held",

	view.CallQueued: "wait", view.CallOffered: "wait", view.CallGated: "wait", view.CallBackoff: "retry", view.CallExternal: "busy",
	view.CallQuarantined: "held", view.CallWaiting: "wait",

	view.OutcomeLost: "retry", view.OutcomeDrained: "calm",

	view.WaitDamaged: "held", view.WaitCode: "held", view.WaitBuild: "held", view.WaitActivityPaused: "held", view.WaitGatePaused: "held",
	view.WaitBreaker: "bad", view.WaitUnserved: "held", view.WaitGate: "wait", view.WaitQueue: "wait", view.WaitSlot: "wait", view.WaitAttempt: "busy",
	view.WaitChild: "wait", view.WaitSignal: "wait", view.WaitTimer: "wait", view.WaitMessage: "wait",

	view.NodeLive: "good", view.NodeDraining: "wait", view.NodeLeft: "calm", view.NodeDied: "bad", view.NodeExpired: "bad",

	view.Applied: "good", view.Unchanged: "calm", view.Refused: "bad", view.NotPending: "calm", view.Selected: "calm", view.WouldWait: "wait",

	"open": "bad", "half_open": "wait", "closed": "good",
}

func tone(state string) string {
	if t := tones[state]; t != "" {
		return t
	}
	return "calm"
}

// glyph returns the glyph of a state's tone.
func glyph(state string) string {
	return map[string]string{"good": "✓", "bad": "✕", "busy": "▶", "held": "‖", "wait": "○", "retry": "↻", "calm": "·"}[tone(state)]
}
