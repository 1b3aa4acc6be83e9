package gates

import (
	"math"
	"time"

	"github.com/perdure/perdure/gate/spec"
)

// The rate is the generic cell rate algorithm: one time holds how far the past starts reach
// into the future, and a start is too early if it would reach further than a full burst.

func burst(r spec.Rate) int64 { return int64(max(r.Burst, 1)) }

func interval(r spec.Rate) int64 {
	return max(int64(math.Round(float64(time.Second)/r.PerSecond)), 1)
}

// startAt returns when the next attempt may start where the rate has its full burst again at a
// time; zero without a rate.
func startAt(full int64, r spec.Rate) int64 {
	if r == (spec.Rate{}) {
		return 0
	}
	return full - (burst(r)-1)*interval(r)
}

// charge returns when the rate has its full burst again after another start; zero without a rate.
func charge(full int64, r spec.Rate, now int64) int64 {
	if r == (spec.Rate{}) {
		return 0
	}
	return max(full, now) + interval(r)
}

// reach returns when a rate has its full burst again of which an earlier rate said when: a slower
// one reaches no further than this one.
func reach(full int64, r spec.Rate, now int64) int64 {
	if r == (spec.Rate{}) {
		return 0
	}
	return min(full, now+burst(r)*interval(r))
}

// takeRate charges the start of an attempt to the rates of the gate and of the key.
func (m *Machine[K]) takeRate(e *entry[K], now int64) {
	m.record.RateAt = charge(m.record.RateAt, m.config.Rate, now)
	e.RateAt = m.record.RateAt
	if r := m.bounds(e.share).Rate; r != (spec.Rate{}) {
		m.setRate(e.share, charge(e.share.State.record.RateAt, r, now))
		e.KeyRateAt = e.share.State.record.RateAt
	}
}

// untakeRate takes back the charges for an attempt that did not start. After another grant
// it is unknown how much of a charge time has already restored, so the start counts.
func (m *Machine[K]) untakeRate(e *entry[K]) {
	if r := m.config.Rate; r != (spec.Rate{}) && e.RateAt != 0 && e.RateAt == m.record.RateAt {
		m.record.RateAt -= interval(r)
	}
	if r := m.bounds(e.share).Rate; r != (spec.Rate{}) && e.KeyRateAt != 0 && e.KeyRateAt == e.share.State.record.RateAt {
		m.setRate(e.share, e.KeyRateAt-interval(r))
	}
	e.RateAt, e.KeyRateAt = 0, 0
}

// thousandths converts tokens to the unit in which they are counted, so that sums are
// exact.
func thousandths(tokens float64) int64 { return int64(math.Round(tokens * 1000)) }

func capacity(b spec.Budget) int64 { return int64(b.Tokens) * 1000 }

func cost(b spec.Budget) int64 {
	if b.Cost == 0 {
		return 1000
	}
	return thousandths(b.Cost)
}

// pay charges a retry and reports whether the budget had enough for it.
func (m *Machine[K]) pay(e *entry[K]) bool {
	b, spent := m.config.Budget, m.spent(e)
	if b == (spec.Budget{}) {
		return true
	}
	if *spent+cost(b) > capacity(b) {
		return false
	}
	*spent += cost(b)
	e.Paid = true
	m.learned(e.share, b.PerKey)
	return true
}

// unpay takes back the charge for a retry that did not start.
func (m *Machine[K]) unpay(e *entry[K]) {
	if e.Paid {
		e.Paid = false
		m.refund(e, cost(m.config.Budget))
	}
}

// reward refunds a success at the first attempt.
func (m *Machine[K]) reward(e *entry[K], outcome Outcome) {
	if outcome == Success && e.Attempt == 1 {
		m.refund(e, thousandths(m.config.Budget.Refund))
	}
}

func (m *Machine[K]) refund(e *entry[K], tokens int64) {
	spent := m.spent(e)
	*spent = max(*spent-tokens, 0)
	m.learned(e.share, m.config.Budget.PerKey)
}

// spent is what the budget of a ticket lacks.
func (m *Machine[K]) spent(e *entry[K]) *int64 {
	if m.config.Budget.PerKey {
		return &e.share.State.record.Spent
	}
	return &m.record.Spent
}

// shut reports whether the breaker of the gate blocks all attempts: in its cooldown, or while it
// waits for the probe.
func (m *Machine[K]) shut(now int64) bool { return m.probing.shut(m.record.Health, now) }

// judge tells the breaker how a running attempt ended. While the breaker is open only the
// probe counts: the others started before.
func (m *Machine[K]) judge(e *entry[K], outcome Outcome, now int64) {
	b := m.config.Breaker
	if b == (spec.Breaker{}) {
		return
	}
	r, p := m.breaker(e.share)
	isProbe := p.probe == e
	if isProbe {
		p.probe, e.Probe = nil, false
	} else if r.OpenUntil != 0 {
		return
	}
	switch outcome {
	case Success:
		r.Failures, r.OpenUntil = 0, 0
	case Failure, FailedProbe:
		if isProbe {
			e.Probed = now
		}
		if r.Failures = min(r.Failures+1, b.Failures); isProbe || r.Failures == b.Failures {
			r.Failures, r.OpenUntil = b.Failures, now+int64(b.Cooldown)
		}
	}
	m.learned(e.share, b.PerKey)
}

// fit drops the state that the spec has no use for.
func (m *Machine[K]) fit() {
	if m.config.Rate == (spec.Rate{}) {
		m.record.RateAt = 0
	}
	m.fitHealth(&m.record.Health, &m.probing, false)
}

// fitHealth drops what a breaker and a budget remember that do not count any more: those of the gate,
// or of one key.
func (m *Machine[K]) fitHealth(h *Health, p *probing[K], ofKey bool) {
	if h.Spent = min(h.Spent, capacity(m.config.Budget)); m.config.Budget.PerKey != ofKey {
		h.Spent = 0
	}
	if b := m.config.Breaker; b == (spec.Breaker{}) || b.PerKey != ofKey {
		h.Failures, h.OpenUntil, p.passing = 0, 0, nil
		m.noProbe(p)
	}
}
