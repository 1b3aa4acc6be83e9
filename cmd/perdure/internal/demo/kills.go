package demo

import "time"

// killPlan decides when the worker is killed: at even distances on the way to the
// end, and at a moment when much is in flight.
type killPlan struct {
	kills int // in all
	done  int
	steps int // to be done by all orders, about
	slots int // attempts that can run at once

	dueSince time.Time // when the coming kill became due; zero if it is not
}

// patience is how long a kill that is due waits for a moment when more is in
// flight.
const patience = 1500 * time.Millisecond

// now reports whether to kill, given the steps done and the attempts running.
func (p *killPlan) now(steps, running int, t time.Time) bool {
	if p.done >= p.kills || steps*(p.kills+1) < p.steps*(p.done+1) {
		return false
	}
	if p.dueSince.IsZero() {
		p.dueSince = t
	}
	return running >= max(1, p.slots*2/3) || running > 0 && t.Sub(p.dueSince) >= patience
}

// killed notes that it was done.
func (p *killPlan) killed() {
	p.done++
	p.dueSince = time.Time{}
}
