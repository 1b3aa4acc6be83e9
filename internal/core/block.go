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

// Start begins a block of code. The policy must not change afterwards. In a replay the
// recorded policy is in force.
func (b Blocks) Start(policy *retry.Policy) *Block {
	e := history.Event{Kind: history.BlockStarted, Call: b.calls.lastCall + 1}
	if !policy.IsZero() {
		e.Policy = policy
	}
	b.code.command(e)
	return b.calls.blocks[b.calls.lastCall]
}

// Tried adds a try to the ledger and, if no other try follows, counts the block. A replay
// only adds it to the totals.
func (b Blocks) Tried(block *Block, t Try) {
	c := &block.call
	c.attempt, c.QueuedAt, c.StartedAt = t.Number, t.Started, t.Started
	outcome, reason := Completed, string(retry.ReasonSucceeded)
	if t.Failure != nil {
		outcome, reason = Failed, string(t.Reason)
		c.Failures = t.Number
		c.remember(t.Number, t.Failure, b.journal.now)
	}
	var next int64
	if t.Retry && t.Delay > 0 {
		next = addTime(b.journal.now, t.Delay)
	}
	detail := AttemptDetail{Delay: t.Delay, Next: next, Rule: t.Rule + 1}
	switch {
	case t.Failure == nil && t.Number == 1:
	case b.journal.out == nil:
		c.Totals.add(outcome, t.Started, t.Started, b.journal.now, t.Delay)
	case t.Failure == nil:
		b.ledger.record(c, outcome, nil, reason, b.journal.now)
	default:
		detail.Judged = newJudged(outcome, t.Failure, t.Decision)
		b.ledger.append(c, outcome, t.Failure, reason, detail, b.journal.now)
	}
	if !t.Retry {
		b.count(block, t.Failure == nil, t.Reason)
	}
}

// count counts a block that has ended. No event says so: the turn in which the code
// leaves the block counts it.
func (b Blocks) count(block *Block, succeeded bool, reason retry.Reason) {
	if b.journal.out == nil {
		return
	}
	end := history.Event{Kind: history.CallFailed, Retry: &history.Summary{Exhausted: reason.Exhausts()}}
	switch {
	case succeeded && block.call.attempt == 1:
		b.journal.out.Tallies = append(b.journal.out.Tallies, Tally{Name: BlockName, Took: block.call.took(&end, b.journal.now), FirstTry: 1, Attempts: 1})
		return
	case succeeded:
		end.Kind = history.CallCompleted
	case reason == retry.ReasonCanceled:
		end.Kind = history.CallCanceled
	}
	b.journal.out.Tallies = append(b.journal.out.Tallies, block.call.tally(&end, b.journal.now))
}

// EndBackoff counts a block that ends during a backoff, without its next try.
func (b Blocks) EndBackoff(block *Block, reason retry.Reason) {
	block.call.attempt = block.call.Failures
	b.count(block, false, reason)
}

// Leave removes a block that the code has left.
func (b Blocks) Leave(block *Block) { delete(b.calls.blocks, block.Number()) }

// Backoff begins the timer before the next try of a block.
func (b Blocks) Backoff(block *Block, t Try) *Call {
	return b.code.begin(history.Event{
		Kind: history.TimerStarted, Call: b.calls.lastCall + 1, Name: "backoff", Due: addTime(b.journal.now, t.Delay),
		Block: block.Number(), Attempt: t.Number, Failure: t.Failure,
	})
}

// TooLate reports whether Within had passed when the code woke up after a backoff.
func (b Blocks) TooLate(block *Block) bool {
	late := !block.forced && b.journal.now > withinEnd(block.call.First, block.call.Policy.Within)
	block.forced = false
	return late
}
