package wording

import (
	"cmp"

	"github.com/perdure/perdure/view"
)

// Tone says what a state means: good, bad, busy (continues by itself), held (waits for a person or
// for code), wait, retry, or calm. The dashboard has a class and a glyph for each, the command line
// a colour.
type Tone string

var tones = map[string]Tone{
	view.StatusCompleted: "good", view.StatusFailed: "bad", view.StatusTimedOut: "bad", view.StatusTerminated: "bad",
	view.StatusCanceled: "calm", view.StatusContinued: "calm", view.StatusRunning: "busy",
	view.StatusPaused: "held", view.StatusParked: "held", view.StatusWaitingForCode: "held",

	view.CallQueued: "wait", view.CallOffered: "wait", view.CallGated: "wait", view.CallBackoff: "retry", view.CallExternal: "busy",
	view.CallQuarantined: "held", view.CallInDoubt: "held", view.CallWaiting: "wait",

	view.OutcomeLost: "retry", view.OutcomeDrained: "calm", view.OutcomeFound: "good",

	view.WaitDamaged: "held", view.WaitCode: "held", view.WaitBuild: "held", view.WaitActivityPaused: "held", view.WaitGatePaused: "held",
	view.WaitBreaker: "bad", view.WaitUnserved: "held", view.WaitGate: "wait", view.WaitQueue: "wait", view.WaitSlot: "wait", view.WaitAttempt: "busy",
	view.WaitChild: "wait", view.WaitSignal: "wait", view.WaitTimer: "wait", view.WaitMessage: "wait",

	view.NodeLive: "good", view.NodeDraining: "wait", view.NodeLeft: "calm", view.NodeDied: "bad", view.NodeExpired: "bad",

	view.Applied: "good", view.Unchanged: "calm", view.Refused: "bad", view.NotPending: "calm", view.Selected: "calm", view.WouldWait: "wait",

	"open": "bad", "half_open": "wait", "closed": "good",
}

// ToneOf returns the tone of a state: a status, the state of a call, an outcome, a wait.
func ToneOf(state string) Tone { return cmp.Or(tones[state], "calm") }

// What calls and attempts can be found by, in the order of display. The slices must not be
// modified.
var (
	// FoundStates are the states by which a database finds calls.
	FoundStates = []string{
		view.CallQueued, view.CallOffered, view.CallExternal, view.CallBackoff, view.CallGated, view.CallPaused, view.CallQuarantined, view.CallInDoubt,
	}
	// CallStates are the states of open calls that operations can be about.
	CallStates = append([]string{view.CallRunning}, FoundStates...)
	// Outcomes are the ways in which attempts end, and questions about them.
	Outcomes = []string{
		view.OutcomeCompleted, view.OutcomeFailed, view.OutcomeTimedOut, view.OutcomeLost, view.OutcomeDrained, view.OutcomeCanceled, view.OutcomeRefused,
		view.OutcomeFound, view.OutcomeAbsent, view.OutcomeUnknown,
	}
)

// What calls and runs that wait are found by: the state of calls that wait for something, and the
// status of runs that wait as a whole. The maps must not be modified.
var (
	WaitingCalls = map[string]string{
		view.WaitBackoff: view.CallBackoff, view.WaitPaused: view.CallPaused, view.WaitQuarantined: view.CallQuarantined, view.WaitInDoubt: view.CallInDoubt,
		view.WaitSlot: view.CallQueued, view.WaitActivityPaused: view.CallQueued, view.WaitGate: view.CallGated, view.WaitBreaker: view.CallGated, view.WaitGatePaused: view.CallGated,
		view.WaitQueue: view.CallOffered, view.WaitUnserved: view.CallOffered, view.WaitExternal: view.CallExternal,
	}
	WaitingRuns = map[string]string{
		view.WaitCode: view.StatusWaitingForCode, view.WaitParked: view.StatusParked, view.WaitDamaged: view.StatusParked, view.WaitPaused: view.StatusPaused,
	}
)

// WaitName is the name of a kind of wait.
func WaitName(kind string) string {
	return cmp.Or(map[string]string{
		view.WaitCode: "code", view.WaitBuild: "departing build", view.WaitUnserved: "unserved queue", view.WaitActivityPaused: "paused activity",
		view.WaitGatePaused: "paused gate", view.WaitBreaker: "open breaker",
	}[kind], kind)
}
