package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE130_EveryWriteOfAQueuedAttemptsLife: whichever write of the owner or of a worker
// fails, loses its answer, or is the last before or after which its process dies, the run
// ends as without faults: claims, heartbeats, ends, attempts given back and taken over,
// withdrawn and stopped ones. Each execution is on record, none runs twice, what is on record
// as completed was executed, and nothing is left. One case alone:
//
//	go test -run 'TestE130/^memory-evicted$/^worker$/^crashes_after$/^write_3$' ./internal/engine
func TestE130_EveryWriteOfAQueuedAttemptsLife(t *testing.T) {
	for _, in := range everywhere {
		// By day runs are dropped after each turn on disk, and kept in memory.
		if !in.plays(needsTransactions) || !extent.Nightly() && (in.onDisk && in.shared || in.onDisk == in.resident) {
			continue
		}
		in.run(t, 1, func(t *testing.T, w *world) {
			w.patient = false // owner and workers look for each other
			want := (&queueLife{w: w}).play(t)
			if want.result != "a1 b2 over over" || len(want.faults) > 0 {
				t.Fatalf("without faults the run ends with %q, and %v", want.result, want.faults)
			}
			for _, of := range []string{"owner", "worker"} {
				for _, fault := range []faulty.Fault{faulty.FailBefore, faulty.FailAfter, faulty.CrashBefore, faulty.CrashAfter} {
					if in.onDisk && fault != faulty.CrashAfter && !extent.Nightly() {
						continue // as in TestEveryWriteOfEveryShape
					}
					if testing.Short() && fault != map[string]faulty.Fault{"owner": faulty.FailAfter, "worker": faulty.CrashAfter}[of] {
						continue
					}
					everyFault(t, w, of, fault, want)
				}
			}
		})
	}
}

// everyFault plays the life with the fault at each write of a process, and at each of its
// signs of life.
func everyFault(t *testing.T, w *world, of string, fault faulty.Fault, want queueAccount) {
	for _, kind := range []string{"write", "renewal"} {
		for k := 1; k < 200; k++ {
			w.anew()
			l := &queueLife{w: w, of: of, kind: kind, fault: fault, at: k}
			got := l.play(t)
			if !l.met {
				if k == 1 {
					t.Errorf("the %s makes no %s", of, kind)
				}
				break
			}
			if got.result != want.result {
				got.faults = append(got.faults, "the run ends with "+got.result)
			}
			for _, f := range got.faults {
				t.Errorf("%s, %s %d %s: %s", of, kind, k, fault, f)
			}
		}
	}
}

// queueAccount is what a run came to.
type queueAccount struct {
	result string
	faults []string
}

// queueLife is a run with calls in a queue, its owner and a worker, one of which meets a
// fault; another process takes the place of one that died.
type queueLife struct {
	w     *world
	of    string
	kind  string
	fault faulty.Fault
	at    int
	met   bool // there was such a write

	mu        sync.Mutex
	processes map[string]*engine.Engine
	first     map[string]*faulty.Plan
	executed  map[string]string // how each attempt ended in the book
	twice     []string
}

// enter notes that a body runs; what is returned, how it ended.
func (l *queueLife) enter(ctx context.Context) func(error) {
	info, _ := activity.FromContext(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, before := l.executed[info.AttemptID]; before {
		l.twice = append(l.twice, info.AttemptID)
	}
	l.executed[info.AttemptID] = "running"
	return func(err error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.executed[info.AttemptID] = "succeeded"; err != nil {
			l.executed[info.AttemptID] = "failed"
		}
	}
}

// definitions are the workflow and its activities.
func (l *queueLife) definitions() (workflow.Workflow[int, string], []any) {
	body := func(do func(ctx context.Context, in int) (string, error)) activity.Func[int, string] {
		return func(ctx context.Context, in int) (out string, err error) {
			end := l.enter(ctx)
			defer func() { end(err) }()
			return do(ctx, in)
		}
	}
	policy := activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter})
	steady := activity.New("steady", body(func(ctx context.Context, in int) (string, error) {
		for range 3 {
			if err := busy(ctx, time.Second); err != nil {
				return "", err
			}
			if err := activity.Heartbeat(ctx, in); err != nil {
				return "", err
			}
		}
		return fmt.Sprint("a", in), nil
	}), activity.Queue("far"), policy)
	shaky := activity.New("shaky", body(func(ctx context.Context, in int) (string, error) {
		if said, _, _ := activity.Details[int](ctx); said == 0 {
			return "", errors.Join(activity.Heartbeat(ctx, 1), errRefused)
		}
		return fmt.Sprint("b", in), busy(ctx, 6*time.Second)
	}), activity.Queue("far"), policy)
	endless := activity.New("endless", body(func(ctx context.Context, in int) (string, error) {
		return "", busy(ctx, time.Hour)
	}), activity.Queue("far"), policy)
	nowhere := activity.Declare[int, string]("nowhere", activity.Queue("nowhere"), policy)
	flow := workflow.New("flow", func(wf *workflow.Context, _ int) (string, error) {
		var said []string
		for i, a := range []activity.Activity[int, string]{steady, shaky, endless, nowhere} {
			out, err := workflow.Timeout(wf, []time.Duration{time.Hour, time.Hour, 10 * time.Second, 10 * time.Second}[i], func(wf *workflow.Context) (string, error) {
				return workflow.Call(wf, a, i+1)
			})
			if err != nil {
				if out = "over"; i < 2 {
					return "", err
				}
			}
			said = append(said, out)
		}
		return strings.Join(said, " "), nil
	})
	return flow, []any{steady, shaky, endless}
}

// begin starts a process, the first of its kind with the fault ahead of it. One that does
// not come up is started again, as whoever runs it would.
func (l *queueLife) begin(t *testing.T, of string) {
	t.Helper()
	flow, activities := l.definitions()
	c := l.w.config(flow)
	if of == "worker" {
		c = l.w.config(activities...)
		c.Node, c.Supersede = "worker", false
		c.Queues = []servedQueue{{Name: "far", Limit: 2}}
	}
	c.Lease = 9 * time.Second
	e := l.w.open(c)
	plan := l.w.plans[e]
	if l.first[of] == nil {
		l.first[of] = plan
		switch {
		case of != l.of:
		case l.kind == "write":
			if l.at <= plan.Writes() { // of its opening, which is another test's
				l.at = plan.Writes() + 1
			}
			plan.At(l.at, l.fault)
		default:
			plan.AtRenewal(l.at, l.fault)
		}
	}
	l.processes[of] = e
	if err := e.Start(t.Context()); err != nil {
		l.w.kill(e)
		l.begin(t, of)
	}
}

// watch starts the next of each process that has died.
func (l *queueLife) watch(t *testing.T) {
	t.Helper()
	for _, of := range []string{"owner", "worker"} {
		e := l.processes[of]
		select {
		case <-l.w.plans[e].Crashed():
			l.w.kill(e)
			l.begin(t, of)
		default:
		}
	}
}

// play lets the run come to its end. When its second call is at work the worker leaves in
// good order, and another one comes.
func (l *queueLife) play(t *testing.T) (got queueAccount) {
	t.Helper()
	l.processes, l.first, l.executed = map[string]*engine.Engine{}, map[string]*faulty.Plan{}, map[string]string{}
	client := l.w.open(l.w.config())
	l.begin(t, "owner")
	l.begin(t, "worker")
	flow, _ := l.definitions()
	run := begin(t, client, flow, "run", 1)
	left := false
	for second := 0; describe(t, client, "run").Status == "running"; second++ {
		if second > 900 {
			got.faults = append(got.faults, fmt.Sprintf("it stands still: %s", pendingOf(describe(t, client, "run"))))
			break
		}
		pass(time.Second)
		l.watch(t)
		if !left && l.runs(run+"/4.") {
			left = true
			l.leave("worker")
			l.begin(t, "worker")
		}
	}
	for range 30 { // what follows from the end of the run
		pass(time.Second)
		l.watch(t)
	}
	if len(got.faults) == 0 {
		if out, err := finish[string](t, client, "run"); err == nil {
			got.result = out
		} else {
			got.result = err.Error()
		}
	}
	got.faults = append(got.faults, l.judge(t, client)...)
	l.leave("worker")
	l.leave("owner")
	plan := l.first[l.of]
	l.met = plan != nil && (l.kind == "write" && plan.Writes() >= l.at || l.kind == "renewal" && plan.Renewals() >= l.at)
	stop(t, client)
	return got
}

// leave ends a process in good order, unless it meets its fault there.
func (l *queueLife) leave(of string) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.processes[of].Stop(now)
	l.w.kill(l.processes[of])
}

// pendingOf says what a run waits for.
func pendingOf(d *view.Description) (said []string) {
	for _, c := range d.Pending {
		said = append(said, fmt.Sprintf("call %d (%s) is %s at attempt %d on %s since %v", c.Call, c.Name, c.State, c.Attempt, c.Node, c.Started))
	}
	return said
}

// runs reports whether an attempt of a call is at work.
func (l *queueLife) runs(call string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, state := range l.executed {
		if strings.HasPrefix(id, call) && state == "running" {
			return true
		}
	}
	return false
}

// judge holds the record against the book.
func (l *queueLife) judge(t *testing.T, client *engine.Engine) (faults []string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, id := range l.twice {
		fault("attempt %s ran twice", id)
	}
	last := map[int64]int{}
	completed := map[int64]int{}
	for _, a := range attemptsOf(t, client, "run") {
		if a.Number != last[a.Call]+1 {
			fault("attempt %d of call %d follows attempt %d", a.Number, a.Call, last[a.Call])
		}
		last[a.Call] = a.Number
		said, ran := l.executed[a.ID]
		delete(l.executed, a.ID)
		switch a.Outcome {
		case "completed":
			if completed[a.Call]++; said != "succeeded" || completed[a.Call] > 1 {
				fault("attempt %s is on record as completed, and the book says %q", a.ID, said)
			}
		case "failed":
			if said != "failed" {
				fault("attempt %s is on record as failed, and the book says %q", a.ID, said)
			}
		case "lost":
			if l.of == "" {
				fault("attempt %s is lost", a.ID)
			}
		case "canceled", "drained":
		default:
			fault("attempt %s is on record as %q (%s); ran: %v", a.ID, a.Outcome, a.Reason, ran)
		}
	}
	for id, said := range l.executed {
		fault("attempt %s is in the book (%s) and not on record", id, said)
	}
	if n := l.w.inInbox(); n != 0 {
		fault("%d messages are left", n)
	}
	s, err := client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range s.Queues {
		if q.Waiting+q.Running > 0 {
			fault("in the end there is %+v", q)
		}
	}
	slices.Sort(faults)
	return faults
}
