package storm

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/retry"
)

// epoch is when every experiment begins; a policy does not see what it is.
var epoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// world is one experiment: the agenda, the tasks and what they call.
type world struct {
	*Scenario
	agenda
	now     time.Duration
	random  *rand.Rand
	tasks   []task
	gate    *entrance // nil: there is none
	service service
	limit   time.Duration // of one attempt, zero if it has none
	timeout retry.Failure // of an attempt that has taken too long
	late    retry.Failure // of one that has waited too long at the gate
	report  *Report
	waits   []time.Duration // of the tasks that succeeded
	settled int
}

// task is where one task stands.
type task struct {
	came     time.Duration
	previous time.Duration // the delay before the present attempt
	attempt  int32         // the present one, from 1
	free     int32         // failed probes of the gate's breaker, which are not charged
	probe    bool          // the present attempt is one
	phase    phase
}

type phase uint8

const (
	idle    phase = iota // not there yet, in backoff, or done
	atGate               // waits there, in backoff or not
	calling              // waits for the answer of the present attempt
)

// Run makes the experiment and reports what came of it. It fails if the scenario
// cannot be, or becomes too large.
func Run(s Scenario) (*Report, error) { return run(s, maxCalls) }

// run is Run with another limit of calls.
func run(s Scenario, mostCalls int) (*Report, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	w := &world{Scenario: &s, random: rand.New(rand.NewPCG(s.Seed, 1)), report: newReport(&s)}
	w.boundAttempts()
	w.service = s.Dependency.open(w)
	if err := w.openGate(); err != nil {
		return nil, err
	}
	w.arrivals()
	for w.settled < s.Tasks {
		e, ok := w.next()
		if !ok || e.at > s.until() {
			break
		}
		w.now = e.at
		w.happen(e)
		if w.report.Calls > mostCalls {
			return nil, fmt.Errorf("storm: scenario %q has made more than %d calls in %v of simulated time; let its policy wait longer, or give it fewer tasks or a shorter Until", s.Name, mostCalls, w.now)
		}
	}
	w.report.finish(w)
	return w.report, nil
}

// boundAttempts finds the shorter one of the two timeouts of an attempt. As
// nothing beats here, an attempt is silent for as long as it runs.
func (w *world) boundAttempts() {
	p := &w.Policy
	timeout := retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: p.AttemptTimeout}
	if p.HeartbeatTimeout > 0 && (p.AttemptTimeout == 0 || p.HeartbeatTimeout < p.AttemptTimeout) {
		timeout = retry.TimeoutError{Kind: retry.TimeoutHeartbeat, Limit: p.HeartbeatTimeout}
	}
	w.limit, w.timeout = timeout.Limit, retry.Classify(&timeout)
	w.late = retry.Classify(&retry.TimeoutError{Kind: retry.TimeoutQueue, Limit: p.QueueTimeout})
}

// arrivals plans the first attempt of each task.
func (w *world) arrivals() {
	w.tasks = make([]task, w.Tasks)
	for i := range w.tasks {
		var at time.Duration
		if w.Over > 0 {
			at = time.Duration(w.random.Int64N(int64(w.Over)))
		}
		w.tasks[i].came = at
		w.plan(event{at: at, kind: eventDue, call: call{task: int32(i), attempt: 1}})
	}
}

// happen lets an event happen.
func (w *world) happen(e event) {
	switch e.kind {
	case eventDue:
		w.enter(e.call)
	case eventTick:
		w.gate.wake()
	case eventLate:
		w.tooLate(e.call)
	case eventTimeout:
		w.answer(e.call, &w.timeout)
	default:
		w.service.handle(e)
	}
}

// after plans an event, unless the experiment is over by then.
func (w *world) after(delay time.Duration, kind kind, c call) {
	if delay <= w.until()-w.now {
		w.plan(event{at: w.now + delay, kind: kind, call: c})
	}
}

// enter begins an attempt that is due: at the gate, if there is one.
func (w *world) enter(c call) {
	if w.gate == nil {
		w.start(c)
		return
	}
	w.await(c, 0)
	w.gate.enter(c)
}

// start makes a call.
func (w *world) start(c call) {
	t := &w.tasks[c.task]
	t.attempt, t.phase = c.attempt, calling
	w.report.called(w.now)
	if w.limit > 0 {
		w.after(w.limit, eventTimeout, c)
	}
	w.service.begin(c)
}

// answer ends an attempt, with nil for a success, unless it has ended before:
// by a timeout, whose answer comes late, or by an answer, whose timeout does.
func (w *world) answer(c call, f *retry.Failure) {
	t := &w.tasks[c.task]
	if t.phase != calling || t.attempt != c.attempt {
		return
	}
	if f != nil {
		w.judge(t, c, f)
		return
	}
	w.settle(t, retry.ReasonSucceeded)
	w.waits = append(w.waits, w.now-t.came)
	if w.gate != nil {
		w.gate.done(c.task, retry.ReasonSucceeded)
	}
}

// judge asks what everybody asks about a failed attempt, and does what follows.
func (w *world) judge(t *task, c call, f *retry.Failure) {
	ran := t.phase == calling
	state := retry.State{Attempt: int(c.attempt - t.free), First: epoch.Add(t.came), Previous: t.previous, Probe: ran && t.probe}
	if state.Probe {
		state.Attempt--
		t.free++
	}
	now, u := epoch.Add(w.now), w.random.Float64()
	d := retry.Decide(&w.Policy, state, *f, now, u)
	if d.Retry {
		next := call{task: c.task, attempt: c.attempt + 1}
		t.previous, t.phase = d.Delay, idle
		if w.gate == nil || !ran {
			w.after(d.Delay, eventDue, next)
			return
		}
		w.await(next, d.Delay)
		if w.gate.retry(c, d) {
			return
		}
		state.OverBudget = true
		d = retry.Decide(&w.Policy, state, *f, now, u)
	}
	w.settle(t, d.Reason)
	if w.gate != nil && ran && d.Reason != retry.ReasonBudget {
		w.gate.done(c.task, d.Reason)
	}
}

// await lets a task wait at the gate for an attempt that is due after a delay: no
// longer than QueueTimeout from then on and, if it is a retry, not beyond Within.
func (w *world) await(c call, delay time.Duration) {
	t := &w.tasks[c.task]
	t.attempt, t.phase = c.attempt, atGate
	patience := retry.Forever
	if w.Policy.QueueTimeout > 0 {
		patience = w.Policy.QueueTimeout
	}
	if within := w.Policy.Within; within > 0 && c.attempt > 1 {
		patience = min(patience, within-(w.now+delay-t.came))
	}
	if patience < retry.Forever-delay {
		w.after(delay+patience, eventLate, c)
	}
}

// tooLate ends a wait at the gate.
func (w *world) tooLate(c call) {
	t := &w.tasks[c.task]
	if t.phase != atGate || t.attempt != c.attempt {
		return
	}
	w.gate.leave(c.task, gates.Neutral)
	if within := w.Policy.Within; within > 0 && c.attempt > 1 && w.now-t.came >= within {
		w.settle(t, retry.ReasonWithin)
		return
	}
	w.judge(t, c, &w.late)
}

// settle notes that a task is done, and why.
func (w *world) settle(t *task, reason retry.Reason) {
	t.phase = idle
	w.settled++
	w.report.End = w.now
	switch {
	case reason == retry.ReasonSucceeded:
		w.report.Succeeded++
		return
	case reason.Exhausts() && w.Policy.OnExhausted == retry.Pause:
		w.report.Paused++
	default:
		w.report.Failed++
	}
	w.report.Reasons[reason]++
}
