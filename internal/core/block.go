package core

import (
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// Block is a block of workflow code that the code retries by a policy. What it came to is
// on record in its timers; that it began, and by which policy, stands before them.
type Block struct {
	Number int64 // 0 of one that began before blocks were on record
	First  int64 // when it began

	policy *retry.Policy
	forced bool // a person wants its coming try, whatever the time
}

// StartBlock begins a block of code. The policy must not change any more. In a replay
// the block has the one that is on record.
func (r *Run) StartBlock(policy *retry.Policy) *Block {
	if recorded := r.next(); r.onRecord() && (recorded == nil || recorded.Kind != history.BlockStarted) {
		return &Block{First: r.now, policy: policy}
	}
	e := history.Event{Kind: history.BlockStarted, Call: r.lastCall + 1}
	if !policy.IsZero() {
		e.Policy = policy
	}
	r.command(e)
	return r.blocks[r.lastCall]
}

func (r *callTable) startBlock(e *history.Event) {
	b := &Block{Number: e.Call, First: r.now, policy: e.Policy}
	if b.policy == nil {
		b.policy = &zeroPolicy
	}
	r.blocks[b.Number] = b
}

// EndBlock says that the code has left a block.
func (r *Run) EndBlock(b *Block) { delete(r.blocks, b.Number) }

// Policy is the policy in force.
func (b *Block) Policy() *retry.Policy { return b.policy }

// TooLate reports whether the time in which tries may start was over when the code woke up
// after a backoff.
func (r *Run) TooLate(b *Block) bool {
	late := b.Number != 0 && !b.forced && r.now > withinEnd(b.First, b.policy.Within)
	b.forced = false
	return late
}

// withinEnd is the last moment at which an attempt may start after a failure.
func withinEnd(first int64, within time.Duration) int64 {
	if within <= 0 || within == retry.Forever {
		return Never
	}
	return addTime(first, within)
}

// StartBackoff begins the timer before the next try of a block.
func (r *Run) StartBackoff(b *Block, d time.Duration) *Call {
	return r.begin(history.Event{Kind: history.TimerStarted, Call: r.lastCall + 1, Name: "backoff", Due: addTime(r.now, d), Block: b.Number})
}
