package dashboard

import "github.com/perdure/perdure/view"

// tones say what a state means: good, bad, busy (it goes on by itself), held (it waits
// for a person or for code), calm. They are the classes of the style; a glyph and the word
// say the same without colours.
var tones = map[string]string{
	view.StatusCompleted: "good", view.StatusFailed: "bad", view.StatusTimedOut: "bad", view.StatusTerminated: "bad",
	view.StatusCanceled: "calm", view.StatusContinued: "calm", view.StatusRunning: "busy",
	view.StatusPaused: "held", view.StatusParked: "held", view.StatusWaitingForCode: "held",

	view.CallQueued: "wait", view.CallOffered: "wait", view.CallGated: "wait", view.CallBackoff: "retry", view.CallExternal: "busy",
	view.CallQuarantined: "held", view.CallWaiting: "wait",

	view.OutcomeLost: "bad", view.OutcomeDrained: "calm",

	view.WaitDamaged: "held", view.WaitCode: "held", view.WaitActivityPaused: "held", view.WaitGatePaused: "held",
	view.WaitBreaker: "bad", view.WaitUnserved: "held", view.WaitGate: "wait", view.WaitQueue: "wait", view.WaitSlot: "wait", view.WaitAttempt: "busy",
	view.WaitChild: "wait", view.WaitSignal: "wait", view.WaitTimer: "wait", view.WaitMessage: "wait",

	view.NodeLive: "good", view.NodeDraining: "wait", view.NodeLeft: "calm", view.NodeExpired: "bad",

	view.Applied: "good", view.Unchanged: "calm", view.Refused: "bad", view.NotPending: "calm", view.Selected: "calm",

	"open": "bad", "half_open": "wait", "closed": "good",
}

func tone(state string) string {
	if t := tones[state]; t != "" {
		return t
	}
	return "calm"
}

// glyph is the sign of a state's tone.
func glyph(state string) string {
	return map[string]string{"good": "✓", "bad": "✕", "busy": "▶", "held": "‖", "wait": "○", "retry": "↻", "calm": "·"}[tone(state)]
}
