package attempt

import (
	"context"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/retry"
)

// slotPatience is how long an attempt that is due waits for a slot. It must be short: on
// record the attempt is running.
const slotPatience = 200 * time.Millisecond

// Begin starts an attempt, now or at the time for which it was committed ahead.
func (r *Runner) Begin(s Spec) {
	x := &Attempt{Key: Key{s.Run, s.Dispatch.Call, s.Dispatch.Attempt}, Tenure: s.Tenure, runner: r, slot: s.Slot}
	x.life.Context = r.bodies
	r.mu.Lock() // until the timers are set
	defer r.mu.Unlock()
	r.running[x.Key] = x
	wait := max(r.config.Clock.Until(s.Dispatch.Started), 0)
	if wait == 0 && s.Wants == nil {
		r.start(x, &s)
		return
	}
	r.await(x, s, wait)
}

// await makes an attempt wait until it is due. The runner's mu is held.
func (r *Runner) await(x *Attempt, s Spec, wait time.Duration) {
	x.start = func(x *Attempt) { r.start(x, &s) }
	x.launch = time.AfterFunc(wait, func() { r.due(x, s.Wants, s.Dispatch.Latest) })
	x.unwanted = context.AfterFunc(&x.life, func() { // if its context ends, the attempt ends without its body
		r.mu.Lock()
		defer r.mu.Unlock()
		x.startOnce()
	})
}

// due starts an attempt that is due, or asks its owner for a slot. The attempt waits for one
// for slotPatience, or until latest if that is earlier.
func (r *Runner) due(x *Attempt, wants func(*Attempt), latest int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.config.Left() <= 0: // another node may own the run by now
		x.life.end(errLate)
		return
	case wants == nil:
		x.startOnce()
		return
	case x.start == nil:
		return
	}
	r.mu.Unlock()
	wants(x)
	r.mu.Lock()
	if x.start == nil {
		return
	}
	patience := slotPatience
	if x.latest = latest; latest != 0 {
		patience = min(patience, max(r.config.Clock.Until(latest), 0))
	}
	x.launch = time.AfterFunc(patience, func() { r.giveUp(x) })
}

// Decline ends an attempt that has not begun, because it gets no slot now.
func (x *Attempt) Decline() { x.runner.giveUp(x) }

// giveUp ends an attempt that got no slot.
func (r *Runner) giveUp(x *Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x.start != nil {
		x.life.end(errNoSlot)
	}
}

// Launch starts an attempt that waits for a slot. It returns false if the attempt no longer
// wants one.
func (x *Attempt) Launch(slot *dispatch.Slot) bool {
	r := x.runner
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.config.Clock.Now()
	if x.start == nil || x.over.Load() || x.latest != 0 && now >= x.latest {
		return false
	}
	x.slot, x.began = slot, now
	x.startOnce()
	return true
}

// startOnce starts a waiting attempt unless it has started or was given up. The runner's mu is
// held.
func (x *Attempt) startOnce() {
	if start := x.start; start != nil && !x.over.Load() {
		x.start = nil
		x.launch.Stop()
		x.unwanted()
		start(x)
	}
}

// start runs the body of an attempt. The runner's mu is held.
func (r *Runner) start(x *Attempt, s *Spec) {
	d := &s.Dispatch
	ctx := x.context(s.Values, s.info(x.began))
	free := func() {} // releases the body's deadline
	if d.AttemptTimeout > 0 {
		timeout := &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: d.AttemptTimeout}
		// The body sees the deadline. The timer also ends attempts whose bodies ignore it.
		ctx, free = context.WithTimeoutCause(ctx, d.AttemptTimeout, timeout)
		x.timer = time.AfterFunc(d.AttemptTimeout, func() { r.timedOut(x, timeout) })
	}
	r.listenTo(x, d)
	if d.Leased {
		ctx = r.leased(ctx, x)
	}
	if x.slot != nil && x.slot.Lane() == dispatch.Probation {
		x.trial = time.AfterFunc(trialTime, func() { r.config.Owner.TrialOver(x) })
	}
	do := s.Body
	r.config.Pool.Run(func() {
		defer free()
		r.execute(ctx, x, do)
	})
}

// info returns what the body learns of its attempt, which got its slot at a time, 0 if it began with
// one.
func (s *Spec) info(began int64) activity.Info {
	d, info := &s.Dispatch, s.Info
	info.Activity, info.Trace = d.Name, d.Trace
	info.Question, info.Attempt, info.Max, info.Allowed, info.Final = d.Question(), d.Attempt, d.Max, d.Allowed, d.Final
	info.Scheduled = time.Unix(0, d.Scheduled)
	if began > d.Started || info.Started.IsZero() {
		info.Started = time.Unix(0, max(began, d.Started))
	}
	if d.AttemptTimeout > 0 {
		info.Deadline = info.Started.Add(d.AttemptTimeout)
	}
	return info
}
