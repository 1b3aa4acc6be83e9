package gates_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/gates"
)

// model is the gate as one would explain it: one list, sorted and searched again
// for each question, a bucket that is filled, a breaker with named states.
type model struct {
	c       spec.Spec
	tickets []*modelTicket
	number  int
	paused  bool

	bucket, filled int64        // of the rate, in nanoseconds of credit
	started        []modelStart // those that the rate may take back, the last one at the end

	tokens int // thousandths

	breaker  string // closed, open, half-open
	failures int
	reopens  int64
	probe    *modelTicket

	events []string // of the step
}

type modelTicket struct {
	key, number, priority, attempt int
	phase                          gates.Phase
	slot, paid, once               bool
	came, until, yields, probed    int64
	returns                        int
}

// modelStart is a start that the rate let pass: when, and the credit before.
type modelStart struct {
	ticket     *modelTicket
	at, credit int64
}

func newModel(c spec.Spec) *model {
	return &model{c: c, tokens: c.Budget.Tokens * 1000, breaker: "closed", bucket: 1 << 62}
}

func (m *model) find(key int) *modelTicket {
	for _, t := range m.tickets {
		if t.key == key {
			return t
		}
	}
	return nil
}

func (m *model) next() int {
	m.number++
	return m.number
}

func (m *model) slots() (n int) {
	for _, t := range m.tickets {
		if t.slot {
			n++
		}
	}
	return n
}

func (m *model) remove(t *modelTicket) {
	if t.paid && t.phase != gates.Running {
		m.tokens = min(m.tokens+m.cost(), m.c.Budget.Tokens*1000)
	}
	if m.probe == t {
		m.probe = nil
	}
	m.tickets = slices.DeleteFunc(m.tickets, func(o *modelTicket) bool { return o == t })
}

func (m *model) cost() int {
	if m.c.Budget.Cost == 0 {
		return 1000
	}
	return int(m.c.Budget.Cost*1000 + 0.5)
}

func (m *model) enter(now int64, ask gates.Ask[int]) {
	t, came := m.find(ask.Key), now
	if ask.Came > 0 {
		came = ask.Came
	}
	switch {
	case t == nil:
		m.tickets = append(m.tickets, &modelTicket{
			key: ask.Key, came: came, number: m.next(), priority: ask.Priority, attempt: ask.Attempt, phase: gates.Waiting, returns: ask.Returns, once: ask.Once,
		})
	case t.phase == gates.StandingBy && ask.Attempt >= t.attempt && ask.Returns >= t.returns:
		t.phase = gates.Waiting
	case t.phase == gates.BackingOff && ask.Attempt >= t.attempt:
		t.attempt = ask.Attempt
		m.over(t, came)
	}
}

func (m *model) over(t *modelTicket, came int64) {
	t.phase = gates.Waiting
	if m.c.Mode == spec.Release && !t.slot {
		t.came, t.number = came, m.next()
	}
}

func (m *model) backoff(now int64, key, attempt int, o gates.Outcome, until int64) {
	t := m.find(key)
	if t == nil || t.phase != gates.Running || t.attempt != attempt {
		return
	}
	m.judge(now, t, o)
	t.paid = false
	if o == gates.Failure && m.c.Budget.Tokens > 0 {
		if m.tokens < m.cost() {
			m.events = append(m.events, fmt.Sprintf("refuse %d.%d budget", t.key, t.attempt))
			m.remove(t)
			return
		}
		m.tokens -= m.cost()
		t.paid = true
	}
	t.attempt++
	t.phase, t.until, t.yields = gates.BackingOff, max(until, now), gates.Never
	t.slot = m.c.Mode == spec.Hold
	if m.c.MaxHold > 0 {
		t.yields = now + int64(m.c.MaxHold)
	}
}

func (m *model) done(now int64, key int, o gates.Outcome) {
	t := m.find(key)
	if t == nil {
		return
	}
	if t.phase == gates.Running {
		m.judge(now, t, o)
		if o == gates.Success && t.attempt == 1 {
			m.tokens = min(m.tokens+int(m.c.Budget.Refund*1000+0.5), m.c.Budget.Tokens*1000)
		}
	}
	m.remove(t)
}

func (m *model) judge(now int64, t *modelTicket, o gates.Outcome) {
	if m.c.Breaker.Failures == 0 {
		return
	}
	open := func() { m.breaker, m.reopens = "open", now+int64(m.c.Breaker.Cooldown) }
	if o == gates.FailedProbe { // perhaps of another gate
		o = gates.Failure
	}
	switch {
	case m.probe == t:
		m.probe = nil
		if o == gates.Success {
			m.breaker, m.failures = "closed", 0
		} else if o == gates.Failure {
			t.probed = now
			open()
		}
	case m.breaker != "closed":
	case o == gates.Success:
		m.failures = 0
	case o == gates.Failure:
		if m.failures++; m.failures == m.c.Breaker.Failures {
			open()
		}
	}
}

func (m *model) giveBack(key, attempt, returns int) {
	t := m.find(key)
	if t == nil || t.phase != gates.Running || t.attempt != attempt || t.returns != returns {
		return
	}
	t.phase, t.slot = gates.StandingBy, false
	t.returns++
	if m.probe == t {
		m.probe = nil
	}
	// The start did not happen if no other followed it, or only such that did not happen.
	if last := len(m.started) - 1; last >= 0 && m.started[last].ticket == t {
		start := m.started[last]
		m.bucket = min(start.credit+m.filled-start.at, m.full())
		m.started = m.started[:last]
	}
}

func (m *model) yield(key int) {
	if t := m.find(key); t != nil && t.phase != gates.Running {
		t.slot = false
	}
}

// pass is what time does: backoffs end, one after the other.
func (m *model) pass(now int64) {
	for {
		var first *modelTicket
		for _, t := range m.tickets {
			if t.phase == gates.BackingOff && t.until <= now && (first == nil ||
				cmp.Or(cmp.Compare(t.until, first.until), cmp.Compare(t.number, first.number)) < 0) {
				first = t
			}
		}
		if first == nil {
			break
		}
		if first.yields < first.until {
			first.slot = false
		}
		m.over(first, now)
	}
	for _, t := range m.tickets {
		if t.phase == gates.BackingOff && t.yields <= now {
			t.slot = false
		}
	}
	if m.c.Rate.PerSecond > 0 {
		m.bucket = min(m.bucket+now-m.filled, m.full())
	}
	m.filled = now
	if m.breaker == "open" && now >= m.reopens {
		m.breaker = "half-open"
	}
}

func (m *model) full() int64 { return int64(max(m.c.Rate.Burst, 1)) * m.interval() }

func (m *model) interval() int64 { return int64(float64(time.Second) / m.c.Rate.PerSecond) }

// serve grants and refuses until nothing more can be.
func (m *model) serve() {
	for !m.paused {
		var waiting []*modelTicket
		for _, t := range m.tickets {
			if t.phase == gates.Waiting {
				waiting = append(waiting, t)
			}
		}
		slices.SortFunc(waiting, func(a, b *modelTicket) int {
			return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.came, b.came), cmp.Compare(a.number, b.number))
		})
		if m.breaker == "open" || m.probe != nil {
			if !m.c.Breaker.Wait {
				for _, t := range waiting {
					m.events = append(m.events, fmt.Sprintf("refuse %d.%d breaker", t.key, t.attempt))
					m.remove(t)
				}
			}
			return
		}
		if m.breaker == "half-open" { // those take turns that a failure would not end
			slices.SortStableFunc(waiting, func(a, b *modelTicket) int {
				switch {
				case a.once != b.once && a.once:
					return 1
				case a.once != b.once:
					return -1
				}
				return cmp.Compare(a.probed, b.probed)
			})
		}
		i := slices.IndexFunc(waiting, func(t *modelTicket) bool { return t.slot || m.slots() < m.c.Limit })
		if i < 0 || m.c.Rate.PerSecond > 0 && m.bucket < m.interval() {
			return
		}
		t := waiting[i]
		t.slot, t.phase = true, gates.Running
		if m.c.Rate.PerSecond > 0 {
			m.started = append(m.started, modelStart{t, m.filled, m.bucket})
			m.bucket -= m.interval()
		}
		if m.breaker == "half-open" {
			m.probe = t
		}
		m.events = append(m.events, fmt.Sprintf("grant %d.%d", t.key, t.attempt))
	}
}

func (m *model) String() string {
	var s []string
	for _, t := range m.tickets {
		s = append(s, fmt.Sprintf("%d.%d #%d p%d %s returns=%d slot=%v paid=%v probe=%v once=%v probed=%d", t.key, t.attempt, t.number, t.priority, t.phase, t.returns, t.slot, t.paid, m.probe == t, t.once, t.probed))
	}
	slices.Sort(s)
	return fmt.Sprint(s, m.paused)
}
