package attempt

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
)

// pulse is the heartbeat of an attempt. Liveness is judged in memory. Details go to the run,
// which records them, at most once per interval. So a heartbeat costs a few memory accesses,
// and an outage of the database does not look like silence.
type pulse struct {
	previous history.Payload // the last details of an earlier attempt

	timers atomic.Bool // there are timers to stop

	mu      sync.Mutex
	limit   time.Duration // of silence; 0: none
	end     time.Time     // when the attempt's own timeout ends it; zero: never
	last    time.Time     // when it beat last, or began
	handed  time.Time     // when the run last got details, or the attempt began
	details history.Payload
	fresh   bool        // the run does not have the last beat
	silence *time.Timer // ends an attempt that is silent for too long; nil without a limit
	flush   *time.Timer // delivers to the run; nil before the first beat
}

// The run gets heartbeats every third of the heartbeat timeout, within limits. The lower limit
// spares the database; the upper one bounds how much progress a crash loses.
const (
	minFlush = 100 * time.Millisecond
	maxFlush = 10 * time.Second
)

func (p *pulse) interval() time.Duration {
	if p.limit == 0 {
		return maxFlush
	}
	return min(max(p.limit/3, minFlush), maxFlush)
}

// listenTo starts to watch the heartbeats of an attempt that begins. The runner's mu is held.
func (r *Runner) listenTo(x *Attempt, d *core.Dispatch) {
	p := &x.pulse // nobody else knows it before the runner's mu is free
	p.previous, p.limit = d.Details, d.HeartbeatTimeout
	p.last = time.Now()
	p.handed = p.last
	if d.AttemptTimeout > 0 {
		p.end = p.last.Add(d.AttemptTimeout)
	}
	if p.limit > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.timers.Store(true)
		p.silence = time.AfterFunc(p.limit, func() { r.listenFor(x) })
	}
}

// listenFor ends an attempt that is silent for too long. Otherwise it sets the timer to when
// the attempt would be, so that a beat need not touch the timer.
func (r *Runner) listenFor(x *Attempt) {
	p := &x.pulse
	p.mu.Lock()
	until := p.last.Add(p.limit)
	if !p.end.IsZero() && !until.Before(p.end) {
		p.mu.Unlock()
		return // its own timeout comes first
	}
	if left := time.Until(until); left > 0 {
		if !x.over.Load() {
			p.silence.Reset(left)
		}
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	r.timedOut(x, &retry.TimeoutError{Kind: retry.TimeoutHeartbeat, Limit: p.limit})
}

// beat records a heartbeat unless it comes too late.
func (x *Attempt) beat(details history.Payload) {
	p := &x.pulse
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.over.Load() || p.limit > 0 && now.Sub(p.last) >= p.limit {
		return
	}
	if now.After(p.last) {
		p.last = now
	}
	if !details.Absent() {
		p.details = details
	}
	if p.fresh {
		return
	}
	p.fresh = true
	wait := max(p.interval()-now.Sub(p.handed), 0)
	if p.flush == nil {
		p.timers.Store(true)
		p.flush = time.AfterFunc(wait, func() { x.runner.config.Owner.Beat(x) })
		return
	}
	p.flush.Reset(wait)
}

// Alive implements seal.AttemptLink.
func (x *Attempt) Alive() { x.beat(history.Payload{}) }

// TakeBeat returns the last heartbeat if it was not taken yet. An owner takes it and delivers
// it to the run in one critical section, so that it does not overtake the end.
func (x *Attempt) TakeBeat() (beat core.Heartbeat, fresh bool) {
	p := &x.pulse
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.fresh {
		return core.Heartbeat{}, false
	}
	now := time.Now()
	p.fresh, p.handed = false, now
	return core.Heartbeat{
		Call: x.Call, Attempt: x.Number, Details: p.details, At: x.runner.config.Clock.Now() - int64(now.Sub(p.last)),
	}, true
}

// stop ends the timers of a pulse.
func (p *pulse) stop() {
	if !p.timers.Load() {
		return // a body that never beats
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range []*time.Timer{p.silence, p.flush} {
		if t != nil {
			t.Stop()
		}
	}
}

// Heartbeat implements seal.AttemptLink.
func (x *Attempt) Heartbeat(details any) error {
	payload, err := history.Encode(details)
	if err != nil {
		return err
	}
	if string(payload.Data) == "null" { // a nil pointer, map or list
		payload = history.Payload{}
	}
	x.beat(payload)
	return nil
}

// Details implements seal.AttemptLink.
func (x *Attempt) Details(into any) (bool, error) {
	if x.pulse.previous.Absent() {
		return false, nil
	}
	return true, x.pulse.previous.Decode(into)
}

// Token implements seal.AttemptLink.
func (x *Attempt) Token() string { return x.runner.config.Token(x) }
