package history

// Initiators of a run that begins with the history of another one.
const (
	// ResetOfRun is that of the next run of a chain which a person sent back to a call.
	ResetOfRun = "reset"
	// ForkOfRun is that of the first run of a chain which begins as another run did.
	ForkOfRun = "fork"
)

// Base says with which history a run begins: with that of another run up to a call,
// which is made again, and with what came later and does not depend on that.
type Base struct {
	WorkflowID string `json:"workflow_id"` // whose history
	Run        string `json:"run"`
	Call       int64  `json:"call"` // the first that is made again

	// Cuts are the turns, in order, in the middle of which the code was stopped: it
	// goes on with the next turn. The last one is where the run itself begins; others
	// are those where the run began from which its history is.
	Cuts []Cut `json:"cuts"`
	// Was says who the code was told that it is, by calls, from the first on.
	Was []Identity `json:"was"`
	// Inputs are those of calls that got another one than the code asks for.
	Inputs map[int64]Payload `json:"inputs,omitempty"`

	// Who asked for it, and why.
	Request string `json:"request,omitempty"`
	By      string `json:"by,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Cut is a turn that ends in the middle of what its code did.
type Cut struct {
	Turn int64 `json:"turn"`
	// Events is how many events of the turn are what happened up to there. Those that
	// follow came later, and take effect when the code has gone on.
	Events int `json:"events"`
	// Run wrote the turns before this one, from the cut before on. Empty is Base.Run.
	Run string `json:"run,omitempty"`
}

// Identity is what code can know of its run that another run has otherwise.
type Identity struct {
	Before        int64  `json:"before"` // the calls below this number were made under it
	WorkflowID    string `json:"workflow_id"`
	Run           string `json:"run"`
	Attempt       int    `json:"attempt"`
	Created       int64  `json:"created"`
	FirstTurn     int64  `json:"first_turn,omitempty"`
	ChainDeadline int64  `json:"chain_deadline,omitempty"`
}

// LastCut is the turn from which on a run is its own: -1 if it is that from the first.
func (b *Base) LastCut() int64 {
	if b == nil || len(b.Cuts) == 0 {
		return -1
	}
	return b.Cuts[len(b.Cuts)-1].Turn
}

// CutOf is how many events of a turn came before the code was stopped there, and
// whether it was.
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
