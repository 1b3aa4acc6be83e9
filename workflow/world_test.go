package workflow_test

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// once is the policy of calls that are not retried.
var once = activity.Retry(retry.Never)

// Activities of these tests.
var (
	echo  = activity.New("echo", func(_ context.Context, s string) (string, error) { return s, nil })
	slow  = activity.Declare[string, string]("slow")  // ends after a minute
	stuck = activity.Declare[string, string]("stuck") // ends only when it is interrupted
	fails = activity.New("fails", func(_ context.Context, s string) (string, error) { return "", fmt.Errorf("%s: %w", s, errBroken) }, once)
	words = workflow.NewSignal[string]("words")

	errBroken = fmt.Errorf("broken")
)

func init() { retry.RegisterError("workflow_test.Broken", errBroken) }

// world is the smallest engine there can be: one run, in memory, in virtual time.
type world struct {
	t        *testing.T
	now      int64
	run      *core.Run
	instance seal.Instance
	turns    []core.StoredTurn
	pending  []core.Input
	later    []timed // ends of attempts and messages to come
	ended    bool
	state    core.State
	calls    map[string]int // how often an activity was started
	absence  absence
}

// absence is a time in which no process serves the run, after its start.
type absence struct{ from, until time.Duration }

type timed struct {
	at    int64
	input core.Input
}

// message is something sent to a run at a time after its start.
type message struct {
	after time.Duration
	input core.Input
}

func send(after time.Duration, word string) message {
	p, err := history.Encode(word)
	if err != nil {
		panic(err)
	}
	return message{after, core.Control{Operation: core.SignalTheRun, Signal: words.Name(), Value: p}}
}

func cancelRun(after time.Duration) message {
	return message{after, core.Control{Operation: core.CancelTheRun, Reason: "enough"}}
}

// code is a workflow of these tests. What it logs must be the same in replay.
type script func(wf *workflow.Context, log func(format string, args ...any)) (string, error)

// play runs the code to its end, or until it waits for ever, and then replays it
// from every prefix of its history: the log must begin the same each time.
func play(t *testing.T, fn script, messages ...message) (*world, []string) {
	t.Helper()
	return playWith(t, fn, absence{}, messages...)
}

// playWith is play with a time in which no process serves the run.
func playWith(t *testing.T, fn script, a absence, messages ...message) (*world, []string) {
	t.Helper()
	var log []string
	w := newWorld(t, fn, &log)
	w.absence = a
	for _, m := range messages {
		w.later = append(w.later, timed{w.now + int64(m.after), m.input})
	}
	for !w.ended && w.step() {
	}
	<-w.instance.Close()
	w.replay(fn, log)
	return w, log
}

const start = int64(1767225600_000000000) // 2026-01-01

func newWorld(t *testing.T, fn script, log *[]string) *world {
	w := &world{t: t, now: start, calls: map[string]int{}}
	w.run, w.instance = w.begin(fn, log)
	return w
}

func (w *world) begin(fn script, log *[]string) (*core.Run, seal.Instance) {
	definition := workflow.New("test", func(wf *workflow.Context, in string) (string, error) {
		return fn(wf, func(format string, args ...any) { *log = append(*log, fmt.Sprintf(format, args...)) })
	})
	run := core.New(core.Config{}, history.Start{
		WorkflowID: "w", Run: "run-1", Type: "test", Attempt: 1, Created: start, Trace: "trace",
	})
	instance := seal.Of(definition).Begin(run)
	run.Bind(instance)
	return run, instance
}

// step takes a step and lets the attempts it starts happen. It reports whether
// there is anything left to do.
func (w *world) step() bool {
	w.t.Helper()
	turn, err := w.run.Step(w.now, w.pending, func(*core.Call) bool { return true })
	w.pending = nil
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	if len(turn.Events) > 0 {
		w.turns = append(w.turns, core.StoredTurn{Number: turn.Number, Time: turn.Time, Events: stored(w.t, turn.Events)})
	}
	if turn.State != nil {
		w.state = *turn.State
	}
	w.ended = turn.Ended
	for _, in := range turn.Interrupt {
		w.interrupt(in)
	}
	for _, d := range turn.Dispatch {
		w.later = append(w.later, w.attempt(d)...)
	}
	return w.wait()
}

// wait moves time to whatever happens next.
func (w *world) wait() bool {
	next := w.run.NextDue()
	for _, l := range w.later {
		next = min(next, l.at)
	}
	if next == core.Never {
		return false
	}
	w.now = max(w.now, next)
	if now := time.Duration(w.now - start); now > w.absence.from && now < w.absence.until {
		w.now = start + int64(w.absence.until)
	}
	slices.SortStableFunc(w.later, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	w.later = slices.DeleteFunc(w.later, func(l timed) bool {
		if l.at > w.now {
			return false
		}
		w.pending = append(w.pending, core.Timed{Input: l.input, At: l.at})
		return true
	})
	return true
}

func stored(t *testing.T, events []history.Event) []history.Event {
	t.Helper()
	data, err := history.EncodeTurn(events)
	if err != nil {
		t.Fatal(err)
	}
	events, err = history.DecodeTurn(data)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// attempt runs a body immediately and returns its end, if it has one by itself.
func (w *world) attempt(d core.Dispatch) []timed {
	w.calls[d.Name]++
	end := core.AttemptEnded{Call: d.Call, Attempt: d.Attempt, Outcome: core.Completed, Ended: w.now + int64(time.Second)}
	switch d.Name {
	case slow.Name():
		end.Ended = w.now + int64(time.Minute)
	case stuck.Name():
		return nil
	}
	result, err := w.invoke(d)
	if err != nil {
		end.Outcome, end.Failure = core.Failed, history.FromError(err)
	} else {
		end.Result = result
	}
	return []timed{{end.Ended, end}}
}

func (w *world) invoke(d core.Dispatch) (result history.Payload, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = retry.NewPanicError(v)
		}
	}()
	switch {
	case d.Step:
		return w.instance.Body(d.Call)(context.Background())
	case d.Name == fails.Name():
		_, err := seal.Of(fails).Invoke(context.Background(), d.Input.Decode)
		return history.Payload{}, err
	}
	out, err := seal.Of(echo).Invoke(context.Background(), d.Input.Decode)
	if err != nil {
		return history.Payload{}, err
	}
	return history.Encode(out)
}

// interrupt makes an attempt in flight fail, a second later.
func (w *world) interrupt(in core.AttemptRef) {
	is := func(l timed) bool {
		end, ok := l.input.(core.AttemptEnded)
		return ok && end.Call == in.Call && end.Attempt == in.Attempt
	}
	w.later = slices.DeleteFunc(w.later, is)
	at := w.now + int64(time.Second)
	w.later = append(w.later, timed{at, core.AttemptEnded{
		Call: in.Call, Attempt: in.Attempt, Outcome: core.Failed, Failure: history.FromError(context.Canceled), Ended: at,
	}})
}

// replay replays every prefix of the history.
func (w *world) replay(fn script, want []string) {
	w.t.Helper()
	for n := range len(w.turns) + 1 {
		var log []string
		run, instance := w.begin(fn, &log)
		err := run.Load(w.turns[:n], nil, core.State{})
		<-instance.Close()
		if err != nil {
			w.t.Fatalf("the first %d turns do not replay: %v", n, err)
		}
		if len(log) > len(want) || !reflect.DeepEqual(log, want[:len(log)]) && len(log) > 0 {
			w.t.Fatalf("replaying %d turns logs\n%q\nand not\n%q", n, log, want)
		}
		if n == len(w.turns) && len(log) != len(want) {
			w.t.Fatalf("a whole replay logs\n%q\nand not\n%q", log, want)
		}
	}
}

// outcome is how the run ended.
func (w *world) outcome() (string, error) {
	w.t.Helper()
	if !w.ended {
		return "", fmt.Errorf("still waiting")
	}
	d, err := core.DecodeDetail(w.state.Detail)
	if err != nil {
		w.t.Fatal(err)
	}
	var s string
	if d.Result != nil {
		if err := d.Result.Decode(&s); err != nil {
			w.t.Fatal(err)
		}
	}
	return s, d.Failure.Err()
}

// kinds are the events of the history, by kind and name.
func (w *world) kinds() []string {
	var out []string
	for _, t := range w.turns {
		for _, e := range t.Events {
			s := string(e.Kind)
			if e.Name != "" {
				s += " " + e.Name
			}
			out = append(out, s)
		}
	}
	return out
}

func (w *world) has(kind string) int {
	n := 0
	for _, k := range w.kinds() {
		if k == kind {
			n++
		}
	}
	return n
}

// expect compares a log.
func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the code logged\n%q\nand should have logged\n%q", got, want)
	}
}
