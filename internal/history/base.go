package history

import (
	"cmp"
	"slices"
)

// Initiators of a run that begins with the history of another run.
const (
	// ResetOfRun marks the next run of a chain that an operator sent back to a call.
	ResetOfRun = "reset"
	// ForkOfRun marks the first run of a chain that begins as another run did.
	ForkOfRun = "fork"
)

// Base says with which history a run begins: that of another run up to a call, which is
// made again, plus later events that do not depend on that call.
type Base struct {
	WorkflowID string `json:"workflow_id"` // of the run whose history it is
	Run        string `json:"run"`
	Call       int64  `json:"call"` // the first call that is made again

	// Cuts are the turns that end in the middle of their code, in order; the code continues
	// with the next turn. The last cut is where the run itself begins. Earlier ones are
	// where the run began whose history this is.
	Cuts []Cut `json:"cuts"`
	// Was lists the identities that the code saw, by call numbers, in order.
	Was []Identity `json:"was"`
	// Inputs are the inputs that replace those that the code passes to these calls.
	Inputs map[int64]Payload `json:"inputs,omitempty"`

	// Keys are the calls that begin again under the idempotency key that they had, by number:
	// those of this reset or fork if KeepKeys says so, and of earlier ones. A call loses its key
	// if the code makes another call instead.
	KeepKeys bool      `json:"keep_keys,omitempty"`
	Keys     []CallKey `json:"keys,omitempty"`

	// Who asked for the reset or fork, and why.
	Request string `json:"request,omitempty"`
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// CallKey says of which run's call of the same number a call keeps the idempotency key.
type CallKey struct {
	Call int64  `json:"call"`
	Name string `json:"name"` // of the activity or step
	Run  string `json:"run"`
}

// KeyOf returns the run whose idempotency key a call keeps that begins again, "" if none is
// named.
func (b *Base) KeyOf(call int64, name string) string {
	if b == nil {
		return ""
	}
	at, found := slices.BinarySearchFunc(b.Keys, call, func(k CallKey, call int64) int { return cmp.Compare(k.Call, call) })
	if !found || b.Keys[at].Name != name {
		return ""
	}
	return b.Keys[at].Run
}

// Cut is a turn that ends in the middle of its code.
type Cut struct {
	Turn int64 `json:"turn"`
	// Events is how many events of the turn precede the cut. Those after it came later and
	// take effect when the code has continued.
	Events int `json:"events"`
	// Run wrote the turns before this one, back to the previous cut. Empty means Base.Run.
	Run string `json:"run,omitempty"`
}

// Identity holds what the code can learn about its run and what differs from run to run.
type Identity struct {
	Before        int64  `json:"before"` // applies to calls below this number
	WorkflowID    string `json:"workflow_id"`
	Run           string `json:"run"`
	Attempt       int    `json:"attempt"`
	Created       int64  `json:"created"`
	FirstTurn     int64  `json:"first_turn,omitempty"`
	ChainDeadline int64  `json:"chain_deadline,omitempty"`
}

// LastCut returns the turn at which a run's own history begins, or -1 if all of it is its
// own.
func (b *Base) LastCut() int64 {
	if b == nil || len(b.Cuts) == 0 {
		return -1
	}
	return b.Cuts[len(b.Cuts)-1].Turn
}

// CutOf returns how many events of a turn precede its cut, and whether the turn is cut.
func (b *Base) CutOf(turn int64) (events int, is bool) {
	if b != nil {
		for _, c := range b.Cuts {
			if c.Turn == turn {
				return c.Events, true
			}
		}
	}
	return 0, false
}
