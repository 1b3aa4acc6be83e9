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

	filled int64 // until when the credits of rates are counted
	rate   *modelRate
	rates  map[string]*modelRate // of run keys

	health map[string]*modelHealth // of run keys; of all in "all"

	events []string // of the step
}

type modelTicket struct {
	key, number, priority, attempt int
	phase                          gates.Phase
	runKey                         string
	slot, paid, once               bool
	came, until, yields, probed    int64
	returns                        int
}

// modelRate is the rate of the gate or of a run key.
type modelRate struct {
	spec.Rate
	bucket  int64        // credit in nanoseconds
	started []modelStart // those that the rate may take back, the last one at the end
}

func newModelRate(r spec.Rate) *modelRate {
	m := &modelRate{Rate: r, bucket: 1 << 62}
	m.fill(0)
	return m
}

func (r *modelRate) full() int64     { return int64(max(r.Burst, 1)) * r.interval() }
func (r *modelRate) interval() int64 { return int64(float64(time.Second) / r.PerSecond) }
func (r *modelRate) fill(d int64) {
	if r.PerSecond > 0 {
		r.bucket = min(r.bucket+d, r.full())
	}
}
func (r *modelRate) empty() bool { return r.PerSecond > 0 && r.bucket < r.interval() }

func (r *modelRate) start(t *modelTicket, at int64) {
	if r.PerSecond > 0 {
		r.started = append(r.started, modelStart{t, at, r.bucket})
		r.bucket -= r.interval()
	}
}

// takeBack takes back a start that did not happen, if no other followed it, or only such that did
// not happen.
func (r *modelRate) takeBack(t *modelTicket, now int64) {
	if last := len(r.started) - 1; last >= 0 && r.started[last].ticket == t {
		start := r.started[last]
		r.bucket = min(start.credit+now-start.at, r.full())
		r.started = r.started[:last]
	}
}

// modelStart is a start that the rate let pass: when, and the credit before.
type modelStart struct {
	ticket     *modelTicket
	at, credit int64
}

// modelHealth is what breaker and budget remember of all, or of a run key.
type modelHealth struct {
	tokens int // thousandths

	breaker  string // closed, open, half-open
	failures int
	reopens  int64
	probe    *modelTicket
}

func newModel(c spec.Spec) *model {
	return &model{c: c, rate: newModelRate(c.Rate), rates: map[string]*modelRate{}, health: map[string]*modelHealth{}}
}

func (m *model) healthOf(perKey bool, runKey string) *modelHealth {
	if !perKey {
		runKey = "all"
	}
	if m.health[runKey] == nil {
		m.health[runKey] = &modelHealth{tokens: m.c.Budget.Tokens * 1000, breaker: "closed"}
	}
	return m.health[runKey]
}

func (m *model) breakerOf(t *modelTicket) *modelHealth {
	return m.healthOf(m.c.Breaker.PerKey, t.runKey)
}
func (m *model) budgetOf(t *modelTicket) *modelHealth { return m.healthOf(m.c.Budget.PerKey, t.runKey) }

// rateOf returns the rate of a run key.
func (m *model) rateOf(runKey string) *modelRate {
	if m.rates[runKey] == nil {
		m.rates[runKey] = newModelRate(m.c.PerKey.Rate)
	}
	return m.rates[runKey]
}

// held returns how many slots a run key has.
func (m *model) held(runKey string) (n int) {
	for _, t := range m.tickets {
		if t.slot && t.runKey == runKey {
			n++
		}
	}
	return n
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
		b := m.budgetOf(t)
		b.tokens = min(b.tokens+m.cost(), m.c.Budget.Tokens*1000)
	}
	if b := m.breakerOf(t); b.probe == t {
		b.probe = nil
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
			key: ask.Key, came: came, number: m.next(), priority: ask.Priority, attempt: ask.Attempt, phase: gates.Waiting, returns: ask.Returns, once: ask.Once, runKey: ask.RunKey,
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
		b := m.budgetOf(t)
		if b.tokens < m.cost() {
			m.events = append(m.events, fmt.Sprintf("refuse %d.%d budget", t.key, t.attempt))
			m.remove(t)
			return
		}
		b.tokens -= m.cost()
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
			b := m.budgetOf(t)
			b.tokens = min(b.tokens+int(m.c.Budget.Refund*1000+0.5), m.c.Budget.Tokens*1000)
		}
	}
	m.remove(t)
}

func (m *model) judge(now int64, t *modelTicket, o gates.Outcome) {
	if m.c.Breaker.Failures == 0 {
		return
	}
	b := m.breakerOf(t)
	open := func() { b.breaker, b.reopens = "open", now+int64(m.c.Breaker.Cooldown) }
	if o == gates.FailedProbe { // perhaps of another gate
		o = gates.Failure
	}
	switch {
	case b.probe == t:
		b.probe = nil
		if o == gates.Success {
			b.breaker, b.failures = "closed", 0
		} else if o == gates.Failure {
			t.probed = now
			open()
		}
	case b.breaker != "closed":
	case o == gates.Success:
		b.failures = 0
	case o == gates.Failure:
		if b.failures++; b.failures == m.c.Breaker.Failures {
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
	if b := m.breakerOf(t); b.probe == t {
		b.probe = nil
	}
	m.rate.takeBack(t, m.filled)
	m.rateOf(t.runKey).takeBack(t, m.filled)
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
	m.rate.fill(now - m.filled)
	for _, r := range m.rates {
		r.fill(now - m.filled)
	}
	m.filled = now
	for _, h := range m.health {
		if h.breaker == "open" && now >= h.reopens {
			h.breaker = "half-open"
		}
	}
}

// serve grants and refuses until nothing more can be. Which of several run keys is next it takes
// from those whom the machine granted: package fair has a test of that.
func (m *model) serve(granted []gates.Grant[int]) {
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
		waiting = slices.DeleteFunc(waiting, func(t *modelTicket) bool {
			b := m.breakerOf(t)
			if b.breaker != "open" && b.probe == nil {
				return false
			}
			if !m.c.Breaker.Wait {
				m.events = append(m.events, fmt.Sprintf("refuse %d.%d breaker", t.key, t.attempt))
				m.remove(t)
			}
			return true
		})
		waiting = slices.DeleteFunc(waiting, func(t *modelTicket) bool {
			full := m.slots() == m.c.Limit || m.c.PerKey.Limit > 0 && m.held(t.runKey) == m.c.PerKey.Limit
			return !t.slot && full || m.rateOf(t.runKey).empty()
		})
		if len(waiting) == 0 || m.rate.empty() {
			return
		}
		var t *modelTicket
		if len(granted) > 0 {
			t = m.choose(waiting, granted[0].Key)
			granted = granted[1:]
		} else {
			t = waiting[0]
		}
		t.slot, t.phase = true, gates.Running
		m.rate.start(t, m.filled)
		m.rateOf(t.runKey).start(t, m.filled)
		if b := m.breakerOf(t); b.breaker == "half-open" {
			b.probe = t
		}
		m.events = append(m.events, fmt.Sprintf("grant %d.%d", t.key, t.attempt))
	}
}

// choose returns the ticket of a key if it may be the next one: the first of its run key without a
// slot, or the first with one; behind a breaker that is half-open the first that should be the probe.
// Otherwise it returns another.
func (m *model) choose(waiting []*modelTicket, key int) *modelTicket {
	if i := slices.IndexFunc(waiting, func(t *modelTicket) bool { return t.key == key }); i >= 0 && m.breakerOf(waiting[i]).breaker == "half-open" {
		of := m.breakerOf(waiting[i])
		return slices.MinFunc(slices.DeleteFunc(slices.Clone(waiting), func(t *modelTicket) bool { return m.breakerOf(t) != of }), func(a, b *modelTicket) int {
			switch { // those take turns that a failure would not end
			case a.once != b.once && a.once:
				return 1
			case a.once != b.once:
				return -1
			}
			return cmp.Compare(a.probed, b.probed)
		})
	}
	seen := map[string]bool{}
	holder := slices.IndexFunc(waiting, func(t *modelTicket) bool { return t.slot })
	for i, t := range waiting {
		switch {
		case t.slot && i == holder:
			if t.key == key {
				return t
			}
		case t.slot || seen[t.runKey] || holder >= 0 && holder < i:
		case m.c.PriorityFirst && i > 0 && len(seen) > 0 && t.priority < waiting[0].priority:
		default:
			seen[t.runKey] = true
			if t.key == key {
				return t
			}
		}
	}
	return waiting[0]
}

func (m *model) String() string {
	var s []string
	for _, t := range m.tickets {
		s = append(s, fmt.Sprintf("%d.%d #%d p%d %s returns=%d slot=%v paid=%v probe=%v once=%v probed=%d", t.key, t.attempt, t.number, t.priority, t.phase, t.returns, t.slot, t.paid, m.breakerOf(t).probe == t, t.once, t.probed))
	}
	slices.Sort(s)
	return fmt.Sprint(s, m.paused)
}
