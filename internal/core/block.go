package core

import (
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// BlockName is the name of retried blocks of code in the ledger, statistics and
// descriptions: the name of the API function.
const BlockName = "workflow.Retry"

// Block is a block of workflow code that the code retries by a policy. Its start and policy
// are on record. So is each backoff, as a timer that says which try failed and how. While
// that timer is open, the block has a row like a call in backoff, under its own number. The
// ledger records its tries under that number too.
type Block struct {
	call   Call  // the block as ledger and row show it; its tries are the attempts
	wait   *Call // the latest backoff, nil for none
	forced bool  // an operator wants the next try regardless of the time
}

// Number returns the block's number among the calls of its run.
func (b *Block) Number() int64 { return b.call.Number }

// Policy returns the policy in force.
func (b *Block) Policy() *retry.Policy { return b.call.Policy }

// Try is one ended try of a block.
type Try struct {
	Number  int
	Started int64
	Failure *history.Failure // nil if it succeeded
	retry.Decision
}

// BlockFault returns why a policy cannot apply to a block of code, or "".
func BlockFault(p *retry.Policy) string {
	switch {
	case p.QueueTimeout != 0:
		return "QueueTimeout is " + p.QueueTimeout.String() + ": a block of workflow code waits in no queue"
	case p.CrashLimit != 0:
		return "CrashLimit is set: a block of workflow code is not lost in a crash"
	case p.HeartbeatTimeout != 0:
		return "HeartbeatTimeout is " + p.HeartbeatTimeout.String() + ": a block of workflow code has no heartbeats"
	case p.OnExhausted == retry.Pause:
		return "OnExhausted is Pause: a block of workflow code cannot wait for a person"
	case p.Doubts():
		return "OnUnknown is set: a block of workflow code has no effect of its own that could be unknown; set it on the calls in it"
	}
	return ""
}
