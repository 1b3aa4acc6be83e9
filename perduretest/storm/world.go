package storm

import (
	"fmt"
	"math/rand/v2"
	"time"

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
	service service
	timeout retry.Failure // of an attempt that has taken too long
	limit   time.Duration // of one attempt, zero if it has none
	report  *Report
	waits   []time.Duration // of the tasks that succeeded
	settled int
}

// task is where one task stands.
type task struct {
	came     time.Duration
	previous time.Duration // the delay before the present attempt
	attempt  int32         // the present one, from 1
	open     bool          // it waits for the answer of its present attempt
}

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
		w.attempt(e.call)
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

// attempt makes a call.
func (w *world) attempt(c call) {
	t := &w.tasks[c.task]
	t.attempt, t.open = c.attempt, true
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
	if !t.open || t.attempt != c.attempt {
		return
	}
	t.open = false
	if f == nil {
		w.settle()
		w.report.Succeeded++
		w.waits = append(w.waits, w.now-t.came)
		return
	}
	d := w.decide(t, f)
	switch d.Action {
	case retry.ActionRetry:
		t.previous = d.Delay
		w.after(d.Delay, eventDue, call{task: c.task, attempt: c.attempt + 1})
	case retry.ActionPause:
		w.settle()
		w.report.Paused++
		w.report.Reasons[d.Reason]++
	default:
		w.settle()
		w.report.Failed++
		w.report.Reasons[d.Reason]++
	}
}

// decide asks what everybody asks.
func (w *world) decide(t *task, f *retry.Failure) retry.Decision {
	state := retry.State{Attempt: int(t.attempt), First: epoch.Add(t.came), Previous: t.previous}
	return retry.Decide(&w.Policy, state, *f, epoch.Add(w.now), w.random.Float64())
}

// settle notes that a task is done.
func (w *world) settle() {
	w.settled++
	w.report.End = w.now
}
