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
	code   *code // that retries it
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

// StartBlock begins a block of code. The policy must not change afterwards. In a replay the
// recorded policy is in force.
func (r *Run) StartBlock(policy *retry.Policy) *Block {
	e := history.Event{Kind: history.BlockStarted}
	if !policy.IsZero() {
		e.Policy = policy
	}
	r.code.begin(e)
	b := r.calls.blocks[r.calls.lastCall]
	b.code = &r.code
	return b
}

// Tried adds a try to the ledger and, if no other try follows, counts the block. A replay
// only adds it to the totals.
func (b *Block) Tried(t Try) {
	c := &b.call
	c.attempt, c.QueuedAt, c.StartedAt = t.Number, t.Started, t.Started
	outcome, reason := Completed, string(retry.ReasonSucceeded)
	if t.Failure != nil {
		outcome, reason = Failed, string(t.Reason)
		c.Failures = t.Number
		c.remember(t.Number, t.Failure, b.code.journal.now)
	}
	var next int64
	if t.Retry && t.Delay > 0 {
		next = addTime(b.code.journal.now, t.Delay)
	}
	detail := AttemptDetail{Delay: t.Delay, Next: next, Rule: t.Rule + 1}
	switch {
	case t.Failure == nil && t.Number == 1:
	case b.code.journal.out == nil:
		c.Totals.add(outcome, t.Started, t.Started, b.code.journal.now, t.Delay)
	case t.Failure == nil:
		b.code.ledger.record(c, outcome, nil, reason, b.code.journal.now)
	default:
		detail.Judged = newJudged(outcome, t.Failure, t.Decision)
		b.code.ledger.append(c, outcome, t.Failure, reason, detail, b.code.journal.now)
	}
	if !t.Retry {
		b.count(t.Failure == nil, t.Reason)
	}
}

// count counts a block that has ended. No event says so: the turn in which the code
// leaves the block counts it.
func (b *Block) count(succeeded bool, reason retry.Reason) {
	if b.code.journal.out == nil {
		return
	}
	end := history.Event{Kind: history.CallFailed, Retry: &history.Summary{Exhausted: reason.Exhausts()}}
	switch {
	case succeeded && b.call.attempt == 1:
		b.code.journal.out.Tallies = append(b.code.journal.out.Tallies, Tally{Name: BlockName, Took: b.call.took(&end, b.code.journal.now), FirstTry: 1, Attempts: 1})
		return
	case succeeded:
		end.Kind = history.CallCompleted
	case reason == retry.ReasonCanceled:
		end.Kind = history.CallCanceled
	}
	b.code.journal.out.Tallies = append(b.code.journal.out.Tallies, b.call.tally(&end, b.code.journal.now))
}

// EndBackoff counts a block that ends during a backoff, without its next try.
func (b *Block) EndBackoff(reason retry.Reason) {
	b.call.attempt = b.call.Failures
	b.count(false, reason)
}

// Leave removes a block that the code has left.
func (b *Block) Leave() { delete(b.code.calls.blocks, b.Number()) }

// Backoff begins the timer before the next try.
func (b *Block) Backoff(t Try) *Call {
	return b.code.begin(history.Event{
		Kind: history.TimerStarted, Name: "backoff", Due: addTime(b.code.journal.now, t.Delay),
		Block: b.Number(), Attempt: t.Number, Failure: t.Failure,
	})
}

// TooLate reports whether Within had passed when the code woke up after a backoff.
func (b *Block) TooLate() bool {
	late := !b.forced && b.code.journal.now > withinEnd(b.call.First, b.call.Policy.Within)
	b.forced = false
	return late
}
