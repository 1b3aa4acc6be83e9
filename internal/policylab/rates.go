package policylab

import (
	"math"

	"github.com/perdure/perdure/internal/core"
)

// enough is how many attempts of a number must be on record to use their own rate.
const enough = 20

// rates is how often attempts succeed after a type of error, and the calls for which that
// has to be estimated.
type rates struct {
	byNumber map[place]*rate
	byType   map[string]*rate
	all      rate
	unknown  map[unknown]int // calls
}

// place is the number of an attempt and the type of the error before it.
type place struct {
	errorType string
	number    int
}

type rate struct{ attempts, succeeded int }

// unknown is a kind of call whose next attempt is not on record, and how many attempts may
// follow in all.
type unknown struct {
	place
	left int
}

func newRates() rates {
	return rates{byNumber: map[place]*rate{}, byType: map[string]*rate{}, unknown: map[unknown]int{}}
}

// see counts a recorded attempt that follows a failure.
func (r *rates) see(before, a *Attempt) {
	if before.Outcome != core.Failed && before.Outcome != core.TimedOut {
		return
	}
	if a.Outcome != core.Failed && a.Outcome != core.TimedOut && a.Outcome != core.Completed {
		return
	}
	at := place{before.ErrorType, a.Number}
	if r.byNumber[at] == nil {
		r.byNumber[at] = &rate{}
	}
	if r.byType[before.ErrorType] == nil {
		r.byType[before.ErrorType] = &rate{}
	}
	for _, n := range []*rate{r.byNumber[at], r.byType[before.ErrorType], &r.all} {
		n.attempts++
		if a.Outcome == core.Completed {
			n.succeeded++
		}
	}
}

// open notes a call that would have continued with an attempt of this number, and with left
// attempts in all if they fail.
func (r *rates) open(errorType string, number, left int) {
	r.unknown[unknown{place{errorType, number}, left}]++
}

// estimate returns how many of the unknown calls succeed, or nil if nothing is known.
func (r *rates) estimate() *float64 {
	if len(r.unknown) == 0 || r.all.attempts == 0 {
		return nil
	}
	sum := 0.0
	for u, calls := range r.unknown {
		fail := 1.0
		for i := range u.left {
			fail *= 1 - r.of(place{u.errorType, u.number + i})
		}
		sum += float64(calls) * (1 - fail)
	}
	sum = math.Round(100*sum) / 100
	return &sum
}

// of returns the rate for an attempt: that of its number if there are enough, else that of
// the error type, else that of all.
func (r *rates) of(at place) float64 {
	n := r.byNumber[at]
	if n == nil || n.attempts < enough {
		n = r.byType[at.errorType]
	}
	if n == nil {
		n = &r.all
	}
	return float64(n.succeeded) / float64(n.attempts)
}
