package view

import (
	"slices"
	"time"
)

// What a call or a run waits for: the values of Wait.For, the most serious first. The
// first ones, up to WaitGatePaused, end only when a person acts.
const (
	WaitQuarantined    = "quarantined"     // a person: the attempts crashed their processes
	WaitInDoubt        = "in-doubt"        // a person: an attempt may have had its effect, and that is not known
	WaitDamaged        = "damaged"         // to be mended or ended: part of what is on record cannot be read
	WaitParked         = "parked"          // code that fits the history of the run, or does not fail in it
	WaitCode           = "code"            // a node that has the code of the run
	WaitBuild          = "build"           // a node of the build on which the run stays: it is not due yet, and by then no node will have it
	WaitUnserved       = "unserved"        // a process that has the activity of the call, may run it, and serves its queue
	WaitPaused         = "paused"          // to be resumed: the call, or the run
	WaitActivityPaused = "activity-paused" // the activity to be resumed in the whole group
	WaitGatePaused     = "gate-paused"     // the gate to be resumed
	WaitBreaker        = "breaker"         // the circuit breaker of a gate to let attempts pass
	WaitBackoff        = "backoff"         // the time of the next attempt
	WaitGate           = "gate"            // its turn at a gate
	WaitQueue          = "queue"           // a free process of those that serve the queue of the call
	WaitSlot           = "slot"            // a free slot of its node: the call, or a run that has not begun
	WaitExternal       = "external"        // the outcome of an attempt that is completed by a token
	WaitAttempt        = "attempt"         // an attempt that runs
	WaitChild          = "child"           // the end of another run
	WaitSignal         = "signal"
	WaitTimer          = "timer"
	WaitMessage        = "message" // something that is sent to the run; listings do not look further in a long history
)

// Why a run was parked because of its code: the values of Wait.Broken.
const (
	BrokenPanicked = "panicked"
	BrokenStuck    = "stuck"   // it never yields
	BrokenCrashed  = "crashed" // it ended its process, several times in a row
)

// waits are the values of Wait.For in their order.
var waits = []string{
	WaitQuarantined, WaitInDoubt, WaitDamaged, WaitParked, WaitCode, WaitBuild, WaitUnserved, WaitPaused, WaitActivityPaused, WaitGatePaused, WaitBreaker, WaitBackoff,
	WaitGate, WaitQueue, WaitSlot, WaitExternal, WaitAttempt, WaitChild, WaitSignal, WaitTimer, WaitMessage,
}

// WaitRank orders the values of Wait.For: the most serious has the lowest rank.
func WaitRank(kind string) int {
	if rank := slices.Index(waits, kind); rank >= 0 {
		return rank
	}
	return len(waits)
}

// Wait is what a call or a run waits for.
type Wait struct {
	For   string `json:"for"`             // see WaitQuarantined
	Call  int64  `json:"call,omitempty"`  // number in its run; 0 if the run as a whole waits
	Name  string `json:"name,omitempty"`  // of the activity, step, signal, timer or child workflow
	Gate  string `json:"gate,omitempty"`  // where the call waits
	Key   string `json:"key,omitempty"`   // the run key whose own breaker is open there; empty if it is that of the gate
	Queue string `json:"queue,omitempty"` // in which the call waits
	Build string `json:"build,omitempty"` // on which the run stays that waits for it (see workflow.Pinned)

	Since *time.Time `json:"since,omitempty"` // nil if it is not known
	Until *time.Time `json:"until,omitempty"` // when it ends by itself; nil if it does not, or that is not known; of WaitBuild when the run is due
	By    string     `json:"by,omitempty"`    // who paused it; empty if the engine did
	Why   string     `json:"why,omitempty"`   // reason that was given for a pause, or what is in the way, in words

	// Broken says what the code of a parked run did, if it was that: see BrokenPanicked.
	Broken string `json:"broken,omitempty"`
	// Crashes are the processes that the call crashed while it ran alone, and NoOtherBuild
	// says that every live node has a build on which it did.
	Crashes      []Crash `json:"crashes,omitempty"`
	NoOtherBuild bool    `json:"no_other_build,omitempty"`
	// Needs is the code that a run needs that is parked or waits for code; nil if it is not
	// known, or the run is one of a listing.
	Needs *NeededCode `json:"needs,omitempty"`

	Failures  int    `json:"failures,omitempty"`   // attempts of the call that failed
	Error     string `json:"error,omitempty"`      // of the latest one
	ErrorType string `json:"error_type,omitempty"` // see retry.TypeName
	// Others is how many other calls of the run are open.
	Others int `json:"others,omitempty"`
	// Retrying is how many calls of the run, this one and others, failed and wait for their
	// next attempt: in backoff, at a gate, in a queue or for a slot.
	Retrying int `json:"retrying,omitempty"`
	// Paused is how many calls of the run are paused, by themselves or with their activity.
	Paused int `json:"paused,omitempty"`
}

// ByItself reports whether the wait ends without a person: at a time, or when other work ends.
func (w *Wait) ByItself() bool { return WaitRank(w.For) > WaitRank(WaitGatePaused) }

// NeedsAttention reports whether a person has to look at the wait: it does not end by itself
// and was not ordered by a person, or a circuit breaker is open.
func (w *Wait) NeedsAttention() bool { return w.For == WaitBreaker || !w.ByItself() && w.By == "" }
