package sim

import (
	"sync"
	"time"

	"github.com/perdure/perdure/activity"
)

// book is a witness besides the engine's records: what bodies have done.
type book struct {
	mu       sync.Mutex
	attempts map[string]*entry // by attempt ID
	order    []*entry
	written  map[string]int  // step transactions, by call ID
	charged  map[string]int  // at the provider, by payment
	lied     map[string]bool // the provider has lied about it, by payment
	complain func(format string, args ...any)
}

// entry is an attempt as its body saw it.
type entry struct {
	run, call, attempt, activity string
	node                         *node
	number                       int
	did                          bool // its effect
	failed                       bool // instead
	question                     bool // it is one, about an attempt
	sent                         bool // a request to the provider
	lie                          bool // a question that was answered by the opposite of the truth
	answered                     time.Time
	answer                       string // its outcome, as somebody said from outside and was told that it counts
}

func newBook(complain func(string, ...any)) *book {
	return &book{attempts: map[string]*entry{}, written: map[string]int{}, charged: map[string]int{}, lied: map[string]bool{}, complain: complain}
}

// begin notes that a body begins.
func (b *book) begin(n *node, info activity.Info) *entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.attempts[info.AttemptID] != nil {
		b.complain("I3: two bodies are attempt %s of %s", info.AttemptID, info.WorkflowID)
	}
	e := &entry{run: info.RunID, call: info.CallID, attempt: info.AttemptID, activity: info.Activity, number: info.Attempt, node: n}
	b.attempts[e.attempt] = e
	b.order = append(b.order, e)
	return e
}

// end notes how a body ended, unless its process is dead: then it did nothing.
func (b *book) end(e *entry, did bool) {
	if e.node.isDead() {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.did, e.failed = did, !did
}

// of is what is noted of the attempts of a run; somebody may still answer them from outside.
func (b *book) of(run string) (all []entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.order {
		if e.run == run {
			all = append(all, *e)
		}
	}
	return all
}

// turnedAway stands for the outcome of an answer to an attempt that was over, as its sender was told.
const turnedAway = "turned away"

// answer notes that an answer from outside was taken, as it was sent at a time: the attempt ends
// with it.
func (b *book) answer(e *entry, as string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.answer, e.answered = as, at
}

// write notes that a step transaction was committed.
func (b *book) write(call string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.written[call]++; b.written[call] > 1 {
		b.complain("the step transaction of call %s was committed %d times", call, b.written[call])
	}
}
