package policylab

import (
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// mode says how attempts that are not on record end.
type mode int

const (
	nearest mode = iota // like the recorded one nearest in time; unknown after the last one
	worst               // they fail
	best                // they succeed
)

// Limits on the replayed attempts of a call: after the end of its record, and at other
// times than on record.
const (
	beyond = 1_000
	most   = 100_000
)

// replay is the replay of one call under the policy.
type replay struct {
	lab    *Lab
	call   *Call
	mode   mode
	starts []int64 // start times of the attempts that ran

	at      int   // index of the recorded attempt whose outcome the current one has
	due     int64 // when the current attempt is due
	shift   int64 // how much later than on record
	number  int   // number of the current attempt, from 1
	charged int
	wait    time.Duration // wait before the current attempt
	further int           // attempts after the end of the record
	moved   int           // attempts at other times than on record

	ending   string
	ended    int64
	assumed  bool // an attempt ran at another time than on record
	guessed  bool // other modes may give another result
	more     bool // there were too many attempts to count all
	lastType string
}

// run replays the call.
func (r *replay) run() {
	r.number, r.due = r.call.Attempts[0].Number, r.call.due(0)
	for r.ending == "" {
		r.attempt()
	}
}

// attempt replays the current attempt and decides what follows.
func (r *replay) attempt() {
	a := &r.call.Attempts[r.at]
	if a.Outcome == core.RefusedByGate {
		r.number--
		r.end(view.EndedFailed, a.Ended+r.shift)
		return
	}
	if a.Started != 0 {
		r.starts = append(r.starts, a.Started+r.shift)
	}
	outcome, failure, duration := r.timed(a)
	ended := a.Ended + r.shift
	if a.Started != 0 {
		ended = a.Started + r.shift + duration
	}
	switch outcome {
	case core.Completed:
		r.end(view.EndedSucceeded, ended)
	case core.Canceled:
		r.end(view.EndedCanceled, ended)
	case core.Lost, core.Drained:
		if a.Started != 0 && r.doubt(a, []string{retry.TypeWorkerLost}, ended) {
			return
		}
		r.again(a, ended)
	default:
		r.failed(a, failure, ended)
	}
}

func (r *replay) end(how string, at int64) { r.ending, r.ended = how, at }

// timed returns how a recorded attempt ends under the policy's timeout, and how long it
// runs.
func (r *replay) timed(a *Attempt) (core.Outcome, *core.Judged, int64) {
	limit, ran := int64(r.lab.policy.AttemptTimeout), a.duration()
	timedOut := a.Outcome == core.TimedOut && a.Failure != nil && a.Failure.Timeout == retry.TimeoutAttempt
	switch {
	case a.Started == 0 || timedOut && int64(a.Failure.Limit) == limit:
		return a.Outcome, a.Failure, ran
	case timedOut && (limit == 0 || limit >= ran): // the policy gives it more time
		r.guess()
		r.lab.longer = true
		if r.mode == best {
			return core.Completed, nil, ran
		}
		return core.TimedOut, a.Failure, max(ran, limit)
	case limit == 0 || ran <= limit || a.Outcome == core.Lost || a.Outcome == core.Drained || a.Outcome == core.Canceled:
		return a.Outcome, a.Failure, ran
	}
	r.lab.shorter = true
	return core.TimedOut, &core.Judged{Types: []string{retry.TypeTimeout}, Timeout: retry.TimeoutAttempt}, limit
}

// guess notes an assumption that could turn out otherwise.
func (r *replay) guess() { r.assumed, r.guessed = true, true }

// again continues after an attempt that is not charged.
func (r *replay) again(a *Attempt, ended int64) {
	r.lab.lost = true
	next := r.at + 1
	switch {
	case next < len(r.call.Attempts):
		gap := r.call.Attempts[next].Number - a.Number - 1
		r.assumed = r.assumed || gap > 0
		r.charged += gap
		r.number += gap + 1
		r.at, r.due = next, r.call.due(next)+r.shift
	case a.Reason == retry.ReasonCrashLimit:
		r.end(view.EndedPaused, ended)
	default:
		r.end(view.EndedUnfinished, ended)
	}
}

// failed asks the policy what follows a failure.
func (r *replay) failed(a *Attempt, failure *core.Judged, ended int64) {
	r.lastType = a.ErrorType
	if failure.Unknown && r.doubt(a, failure.Types, ended) {
		return
	}
	d := r.charge(a, failure, ended)
	exact := r.shift == 0 && ended == a.Ended
	next := r.at + 1
	recorded := next < len(r.call.Attempts)
	switch {
	case d.Pause && exact && recorded && !a.Reason.Retries(): // an operator resumed it
		r.follow(a, failure)
	case !d.Retry:
		r.end(stopped(d), ended)
	case exact && a.Reason.Retries() && (d.At.UnixNano() == a.Next || a.Next == 0 && d.Delay == 0):
		r.wait = d.Delay
		if !recorded {
			r.end(view.EndedUnfinished, ended)
			return
		}
		r.follow(a, failure)
	default:
		r.wait = d.Delay
		r.elsewhere(d.At.UnixNano(), ended)
	}
}

// charge asks the policy about a failure, which counts unless it was that of a breaker's probe
// and the call goes on.
func (r *replay) charge(a *Attempt, failure *core.Judged, at int64) retry.Decision {
	if a.Reason != retry.ReasonProbe {
		r.charged++
		return r.decide(failure, at, retry.State{OverBudget: a.Reason == retry.ReasonBudget})
	}
	d := r.decide(failure, at, retry.State{Probe: true})
	if !d.Retry {
		r.charged++
	}
	return d
}

// decide completes the state of the call.
func (r *replay) decide(failure *core.Judged, at int64, s retry.State) retry.Decision {
	s.Settled = true // what may have been done was asked about before: see doubt
	s.Attempt, s.First, s.Previous = r.charged, time.Unix(0, r.call.First), r.wait
	return retry.Decide(&r.lab.policy, s, failure.Failure(), time.Unix(0, at), r.lab.draw(r.call.RunID, r.call.Number, r.number))
}

// follow continues with the next recorded attempt, at its own time. The attempts of a gap
// before it failed like this one, evenly spaced.
func (r *replay) follow(a *Attempt, failure *core.Judged) {
	next := r.at + 1
	b := &r.call.Attempts[next]
	due := r.call.due(next)
	for n := a.Number + 1; n < b.Number; n++ {
		r.assumed, r.lab.gaps = true, true
		at := a.Ended + (due-a.Ended)/int64(b.Number-a.Number)*int64(n-a.Number)
		r.number++
		r.starts = append(r.starts, at)
		if d := r.charge(a, failure, at); !d.Retry {
			r.end(stopped(d), at)
			return
		}
	}
	r.number++
	r.at, r.due, r.shift = next, due, 0
}

func stopped(d retry.Decision) string {
	switch {
	case d.Pause:
		return view.EndedPaused
	case d.Reason == retry.ReasonCanceled:
		return view.EndedCanceled
	}
	return view.EndedFailed
}

// elsewhere continues with an attempt that is due at another time than on record.
func (r *replay) elsewhere(due, ended int64) {
	if r.moved++; due > r.lab.now || r.moved > most {
		r.more = r.moved > most
		r.end(view.EndedUnfinished, ended)
		return
	}
	r.assumed = true
	i, known := r.nearest(due)
	if !known {
		r.guess()
		switch {
		case r.mode == nearest:
			r.end(view.EndedUnknown, ended)
			return
		case r.mode == best:
			r.number++
			r.starts = append(r.starts, due)
			r.end(view.EndedSucceeded, due+r.call.Attempts[i].duration())
			return
		case r.further == beyond:
			r.more = true
			r.end(view.EndedUnfinished, ended)
			return
		}
		r.further++
	}
	r.number++
	r.at, r.due, r.shift = i, due, due-r.call.due(i)
}

// nearest returns the index of the recorded attempt whose outcome an attempt due at this
// time gets. The index is never before the current attempt. The outcome is unknown if the
// nearest attempt is the last one, did not succeed, and was too long ago.
func (r *replay) nearest(due int64) (i int, known bool) {
	all, i := r.call.Attempts, r.at
	last := len(all) - 1
	far := func(i int) int64 { return differ(due, r.call.due(i)) }
	if i < last && far(i+1) <= far(i) {
		i++
	}
	for i < last && far(i+1) < far(i) {
		i++
	}
	if i == last && all[i].Outcome == core.Completed || i+1 == last && all[last].Outcome == core.Completed && due > r.call.due(i) {
		return r.around(due, last), true
	}
	if i < last {
		return i, true
	}
	var stands int64 // how long the last one stands for later attempts
	if last > 0 {
		stands = (r.call.due(last) - r.call.due(last-1)) / 2
	}
	late := due - r.call.due(last)
	return i, late < stands || late <= stands && r.at < last
}

// around returns the attempt for a time near a recorded success.
func (r *replay) around(due int64, success int) int {
	before := success - 1
	if before < r.at || due >= r.call.due(success) {
		return success
	}
	r.guess()
	switch {
	case r.mode == worst:
		return before
	case r.mode == best || due-r.call.due(before) >= r.call.due(success)-due:
		return success
	}
	return before
}
