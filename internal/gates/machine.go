package gates

import (
	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/retry"
)

// Outcome is what an attempt says about what is behind the gate.
type Outcome string

const (
	// Success counts for the breaker and, at a first attempt, for the budget.
	Success Outcome = "success"
	// Failure counts for the breaker, and its retry costs tokens.
	Failure Outcome = "failure"
	// FailedProbe is the failure of an attempt that was granted as the probe of a breaker, by
	// this gate or another one of its call. It counts for the breaker, and its retry is free.
	FailedProbe Outcome = "failed_probe"
	// Neutral counts for nothing: the attempt was canceled or lost, or its error is not the
	// fault of what is behind the gate. Its retry is free.
	Neutral Outcome = "neutral"
)

// OutcomeOf returns what the end of a call says. A failure that no retry can change says nothing.
func OutcomeOf(reason retry.Reason) Outcome {
	switch {
	case reason == retry.ReasonSucceeded:
		return Success
	case reason.Exhausts(), reason == retry.ReasonTimeout:
		return Failure
	}
	return Neutral
}

// Grant says that an attempt may start now.
type Grant[K comparable] struct {
	Key     K
	Attempt int
	Returns int  // how often the ticket's slot was given back
	Probe   bool // it is the probe of a breaker that makes calls wait
}

// Refusal says that a ticket has ended and its call gets no further attempt. Reason is
// ReasonBreaker or ReasonBudget.
type Refusal[K comparable] struct {
	Key     K
	Attempt int
	Reason  retry.Reason
}

// Ask is a request for an attempt.
type Ask[K comparable] struct {
	Key      K
	Attempt  int
	Priority int
	Returns  int    // how often the ticket's slot was given back
	Came     int64  // when the call came to its first gate, zero if this is it
	Once     bool   // a failure ends the call
	Silent   bool   // the gate does not learn how the attempt ends
	RunKey   string // whose turn it takes; see share
	Weight   int    // of the run key, from 1 to 1,000; 0 is 1
	Retry    bool   // the call left after a failure, and this is its retry: a new ticket costs tokens
}

// Step is the result of one input. It is valid until the next input.
type Step[K comparable] struct {
	Granted []Grant[K]
	Refused []Refusal[K]

	// Changed are the keys of the tickets whose records changed, including new and ended
	// ones, without duplicates. Record reports whether the gate's own record changed.
	Changed []K
	Record  bool

	// Shares are the run keys whose records changed, without duplicates; see Machine.Share.
	Shares []string
}

// Machine is one gate. It is not safe for concurrent use.
type Machine[K comparable] struct {
	config spec.Spec
	record Record

	tickets    map[K]*entry[K]
	line       line[K]  // waiting without a slot
	due        queue[K] // waiting with a slot
	backoffs   queue[K] // ordered by when something happens to them
	holders    int      // slots taken
	now        int64    // of the step
	blocked    int64    // when rate or breaker admit the next attempt, 0 if neither blocks it
	probing[K]          // by the breaker of the gate

	barred []*fair.Key[share[K]] // whose own breaker may have calls to refuse

	step   Step[K]
	dirty  []*entry[K] // entries of step.Changed
	before Record      // at the beginning of the step
}

// New returns a gate without tickets.
func New[K comparable](c spec.Spec) (*Machine[K], error) {
	if err := check(c); err != nil {
		return nil, err
	}
	return &Machine[K]{config: c, tickets: map[K]*entry[K]{}}, nil
}

// Enter asks for an attempt. It creates a ticket for an unknown key, or refuses it if it is that
// of a retry and the budget is exceeded. A ticket that is in backoff before that attempt is due
// from now on.
func (m *Machine[K]) Enter(now int64, ask Ask[K]) *Step[K] {
	m.begin(now)
	e := m.tickets[ask.Key]
	came := now
	if ask.Came != 0 {
		came = min(ask.Came, now)
	}
	switch {
	case e == nil:
		e = &entry[K]{Ticket: Ticket[K]{
			Key: ask.Key, Came: came, Number: m.number(), Priority: ask.Priority, Attempt: max(ask.Attempt, 1), Returns: ask.Returns, Once: ask.Once, Silent: ask.Silent,
			RunKey: ask.RunKey, Weight: ask.Weight,
		}}
		m.tickets[ask.Key] = e
		m.join(e)
		if ask.Retry && !m.pay(e) {
			m.refuse(e, retry.ReasonBudget)
			break
		}
		m.enqueue(e, now)
	case e.Phase == BackingOff && ask.Attempt >= e.Attempt:
		e.Attempt = ask.Attempt
		m.backoffs.leave(e)
		m.endBackoff(e, now, came)
	case e.Phase == StandingBy && ask.Attempt >= e.Attempt && ask.Returns >= e.Returns:
		m.enqueue(e, now)
	}
	return m.finish(now)
}

// Return gives back the slot of an attempt that was granted and did not start. returns is
// that of the Grant. The ticket keeps its place but is skipped until it asks again.
func (m *Machine[K]) Return(now int64, key K, attempt, returns int) *Step[K] {
	m.begin(now)
	if e := m.tickets[key]; e != nil && e.Phase == Running && e.Attempt == attempt && e.Returns == returns {
		m.forgo(e)
		m.untakeRate(e)
		m.free(e)
		e.Returns++
		e.Phase, e.Since = StandingBy, now
		m.touch(e)
	}
	return m.finish(now)
}

// Backoff says that the running attempt has ended and the next one is due at until. If the
// budget is exceeded, the ticket is refused and ends.
func (m *Machine[K]) Backoff(now int64, key K, attempt int, outcome Outcome, until int64) *Step[K] {
	m.begin(now)
	e := m.tickets[key]
	if e == nil || e.Phase != Running || e.Attempt != attempt {
		return m.finish(now)
	}
	m.judge(e, outcome, now)
	e.Paid = false
	if outcome == Failure && !m.pay(e) {
		m.refuse(e, retry.ReasonBudget)
		return m.finish(now)
	}
	e.Attempt++
	e.Phase, e.Since, e.Until = BackingOff, now, max(until, now)
	if m.config.Mode != spec.Hold {
		m.free(e)
	}
	m.rest(e)
	return m.finish(now)
}

// Done says that the call has ended; outcome is that of its attempt if one was running. The
// ticket ends.
func (m *Machine[K]) Done(now int64, key K, outcome Outcome) *Step[K] {
	m.begin(now)
	if e := m.tickets[key]; e != nil {
		if e.Phase == Running {
			m.judge(e, outcome, now)
			m.reward(e, outcome)
		}
		m.remove(e)
	}
	return m.finish(now)
}

// Leave withdraws a call in any phase: it was canceled or waited too long. The ticket ends.
func (m *Machine[K]) Leave(now int64, key K) *Step[K] { return m.Done(now, key, Neutral) }

// Yield takes the slot of a ticket that is not running. The ticket keeps its number.
func (m *Machine[K]) Yield(now int64, key K) *Step[K] {
	m.begin(now)
	if e := m.tickets[key]; e != nil && e.Slot && e.Phase != Running {
		m.unqueue(e)
		m.free(e)
		if e.Phase == Waiting {
			m.queue(e)
		} else {
			m.rest(e)
		}
	}
	return m.finish(now)
}

// Tick passes the time.
func (m *Machine[K]) Tick(now int64) *Step[K] {
	m.begin(now)
	return m.finish(now)
}

// Pause stops or resumes granting. Running attempts continue.
func (m *Machine[K]) Pause(now int64, paused bool) *Step[K] {
	m.begin(now)
	m.record.Paused = paused
	return m.finish(now)
}

// Reconfigure changes the spec. A lower limit takes effect as slots are given back. An
// invalid spec changes nothing.
func (m *Machine[K]) Reconfigure(now int64, c spec.Spec) (*Step[K], error) {
	if err := check(c); err != nil {
		return nil, err
	}
	m.begin(now)
	m.config = c
	m.fit()
	m.record.RateAt = reach(m.record.RateAt, c.Rate, now)
	m.fitShares(now)
	return m.finish(now), nil
}

// Next returns when Tick will have something to do, or false if never.
func (m *Machine[K]) Next() (at int64, ok bool) {
	at = Never
	if e := m.backoffs.top(); e != nil {
		at = e.rank
	}
	at = min(at, m.line.parked.next())
	if m.blocked != 0 {
		at = min(at, m.blocked)
	}
	return at, at != Never
}

// begin starts a step with the changes due to time alone.
func (m *Machine[K]) begin(now int64) {
	for i, e := range m.dirty {
		e.dirty, m.dirty[i] = false, nil
	}
	clear(m.step.Changed)
	m.dirty = m.dirty[:0]
	for _, s := range m.step.Shares {
		m.line.written(s)
	}
	m.step = Step[K]{Granted: m.step.Granted[:0], Refused: m.step.Refused[:0], Changed: m.step.Changed[:0], Shares: m.step.Shares[:0]}
	m.before = m.record
	m.advance(now)
}

// finish ends a step: it grants what may start now.
func (m *Machine[K]) finish(now int64) *Step[K] {
	m.advance(now)
	m.admit(now)
	m.step.Record = m.record != m.before
	return &m.step
}

// advance ends the backoffs that are over.
func (m *Machine[K]) advance(now int64) {
	m.advanceShares(now)
	for {
		e := m.backoffs.top()
		if e == nil || e.rank > now {
			return
		}
		m.backoffs.leave(e)
		if e.rank < e.Until { // MaxHold has passed
			m.free(e)
			m.rest(e)
		} else {
			m.endBackoff(e, e.Until, now)
		}
	}
}

// endBackoff makes a ticket that is in no queue wait from since on. In mode Release it
// lines up as if it had just come.
func (m *Machine[K]) endBackoff(e *entry[K], since, came int64) {
	e.Until = 0
	if m.config.Mode == spec.Release && !e.Slot {
		e.Came, e.Number = came, m.number()
	}
	m.enqueue(e, since)
}

// enqueue makes a ticket wait.
func (m *Machine[K]) enqueue(e *entry[K], since int64) {
	e.Phase, e.Since = Waiting, since
	m.queue(e)
	m.touch(e)
}

// queue puts a waiting ticket into its queue.
func (m *Machine[K]) queue(e *entry[K]) {
	q := &m.due
	if !e.Slot {
		q = &e.share.State.queue
		m.line.count++
	}
	e.share.State.waiting++
	q.push(e, -int64(e.Priority), e.Came)
	m.look(e.share)
}

// rest puts a ticket in backoff until it is due or its hold of the slot ends.
func (m *Machine[K]) rest(e *entry[K]) {
	at := e.Until
	if e.Slot && m.config.MaxHold > 0 {
		at = min(at, e.Since+int64(m.config.MaxHold))
	}
	m.backoffs.push(e, at, 0)
	m.touch(e)
}

// free gives back the slot of a ticket, if it has one.
func (m *Machine[K]) free(e *entry[K]) {
	if e.Slot {
		e.Slot = false
		m.holders--
		e.share.State.holders--
		m.look(e.share)
		m.touch(e)
	}
}

// remove ends a ticket. It refunds what was paid for an attempt that never started.
func (m *Machine[K]) remove(e *entry[K]) {
	if e.home != nil {
		m.unqueue(e)
	}
	if e.Phase != Running {
		m.unpay(e)
	}
	m.free(e)
	m.forgo(e)
	m.touch(e)
	delete(m.tickets, e.Key)
	m.leave(e)
}

// number returns the next number.
func (m *Machine[K]) number() int64 {
	m.record.Number++
	return m.record.Number
}

// touch notes that the record of a ticket has changed.
func (m *Machine[K]) touch(e *entry[K]) {
	if !e.dirty {
		e.dirty = true
		m.dirty = append(m.dirty, e)
		m.step.Changed = append(m.step.Changed, e.Key)
	}
}
