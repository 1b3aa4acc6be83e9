package core_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// op is one statement of a random workflow.
type op struct {
	verb string
	n    int
	body []op
}

func (o op) String() string {
	if len(o.body) == 0 {
		return fmt.Sprintf("%s(%d)", o.verb, o.n)
	}
	return fmt.Sprintf("%s(%d, %v)", o.verb, o.n, o.body)
}

var (
	simpleVerbs = []string{"call", "step", "gated", "sleep", "signal", "effect", "version", "status", "race", "race-signal", "late-race", "abandon", "now", "random", "child", "race-child", "detached"}
	nestedVerbs = []string{"map", "go", "retry", "timeout", "scope", "shield", "channel"}
)

// drawOps draws a program with at most so many levels.
func drawOps(t *rapid.T, depth int) []op {
	ops := make([]op, rapid.IntRange(1, 4).Draw(t, "statements"))
	for i := range ops {
		o := op{n: rapid.IntRange(0, 6).Draw(t, "n")}
		if depth > 0 && rapid.IntRange(0, 2).Draw(t, "nested") == 0 {
			o.verb = rapid.SampledFrom(nestedVerbs).Draw(t, "verb")
			o.body = drawOps(t, depth-1)
		} else {
			o.verb = rapid.SampledFrom(simpleVerbs).Draw(t, "verb")
		}
		ops[i] = o
	}
	return ops
}

// policies that the activities of random programs have.
var policies = []retry.Policy{
	{},
	retry.Never,
	{MaxAttempts: 2, Backoff: retry.None},
	{MaxAttempts: 4, Within: 5 * time.Second, NonRetryable: []string{"Fatal"}},
	{QueueTimeout: 2 * time.Second, OnTimeout: retry.StopOnTimeout, Rules: []retry.Rule{{Types: []string{"QueueTimeout"}, MaxAttempts: 3}}},
	{CrashLimit: 1, MaxAttempts: 3, Backoff: retry.Fixed(time.Second)},
	{AttemptTimeout: 7 * time.Second, HeartbeatTimeout: 3 * time.Second, MaxAttempts: 4, Backoff: retry.Fixed(time.Second)},
	{MaxAttempts: 2, Backoff: retry.Fixed(time.Second), OnExhausted: retry.Pause},
}

// doors are the gates of random programs; one has a budget that judges retries.
var doors = []*gate.Gate{
	gate.New("a", 1),
	gate.New("b", 2, gate.WithMode(gate.Hold)),
	gate.New("c", 2, gate.WithMode(gate.Release), gate.WithBudget(gate.Budget{Tokens: 1, Refund: 0.5})),
}

// random is the workflow that a program is. Its result tells all it has seen, so
// that a replay which sees anything else does not fit.
func random(program []op) maker {
	return codeOf(func(wf *workflow.Context, _ int) (string, error) {
		p := &interpreter{}
		p.run(wf, program)
		text := strings.Join(p.log, "; ")
		if wf.Err() != nil {
			return "", fmt.Errorf("%s: %w", text, wf.Err())
		}
		return text, nil
	})
}

type interpreter struct{ log []string }

func (p *interpreter) say(format string, args ...any) {
	p.log = append(p.log, fmt.Sprintf(format, args...))
}

// told is an error with everything a workflow can ask of it.
func told(err error) string {
	if err == nil {
		return ""
	}
	var aborted *retry.AbortedError
	errors.As(err, &aborted)
	return fmt.Sprintf("%v %v %t %+v", err, retry.Classify(err).Types, errors.Is(err, errDeclined), aborted)
}

func (p *interpreter) run(wf *workflow.Context, ops []op) {
	for _, o := range ops {
		p.one(wf, o)
	}
}

func (p *interpreter) one(wf *workflow.Context, o op) {
	option := activity.Retry(policies[o.n%len(policies)])
	later := time.Duration(o.n) * time.Second
	switch o.verb {
	case "call":
		s, err := workflow.Call(wf, ship, o.n, option)
		p.say("call %s %s", s, told(err))
	case "step":
		s, err := workflow.Do(wf, "step", func(context.Context) (string, error) { return "", nil }, option)
		p.say("step %s %s", s, told(err))
	case "gated":
		s, err := workflow.Call(wf, ship, o.n, option, activity.Through(doors[0]), activity.Through(doors[o.n%2+1]))
		p.say("gated %s %s", s, told(err))
	case "sleep":
		p.say("sleep %s", told(workflow.Sleep(wf, later)))
	case "signal":
		s, err := workflow.Receive(wf, approval)
		p.say("signal %s %s", s, told(err))
	case "effect":
		p.say("effect %d", workflow.SideEffect(wf, "effect", func() int { return o.n }))
	case "version":
		change := o.n % 3
		p.say("version %d", workflow.VersionOf(wf, fmt.Sprint("change-", change), 0, 1+change))
	case "status":
		workflow.SetStatus(wf, fmt.Sprintf("%d of 6", o.n))
	case "now":
		p.say("now %s", workflow.Now(wf).Format(time.RFC3339Nano))
	case "random":
		p.say("random %s %d", workflow.UUID(wf), workflow.Rand(wf).IntN(100))
	case "race":
		call, timer := workflow.Async(wf, ship, o.n, option), workflow.NewTimer(wf, later)
		won := workflow.Select(wf, timer, call)
		s, err := call.Get(wf)
		p.say("race %d %s %s %s", won, s, told(err), told(timer.Wait(wf)))
	case "race-signal":
		timer, signal := workflow.NewTimer(wf, later), workflow.ReceiveAsync(wf, approval)
		won := workflow.Select(wf, timer, signal)
		s, err := signal.Get(wf)
		p.say("race-signal %d %s %s", won, s, told(err))
	case "late-race":
		a, b := workflow.Async(wf, ship, o.n, option), workflow.Async(wf, reserve, o.n)
		slept := workflow.Sleep(wf, later)
		p.say("late-race %d %s", workflow.Select(wf, a, b), told(slept))
	case "abandon":
		workflow.Async(wf, notify, "nobody waits")
	case "child":
		s, err := workflow.RunChild(wf, delivery, o.n, upbringing(o.n)...)
		p.say("child %s %s", s, told(err))
	case "race-child":
		child, timer := workflow.RunChildAsync(wf, delivery, o.n, upbringing(o.n)...), workflow.NewTimer(wf, later)
		won := workflow.Select(wf, timer, child)
		s, err := child.Get(wf)
		p.say("race-child %d %s %s", won, s, told(err))
	case "detached":
		run := workflow.StartDetachedAsync(wf, delivery, o.n)
		if o.n%2 == 0 {
			v, err := run.Get(wf)
			p.say("detached %v %s", v, told(err))
		}
	default:
		p.nested(wf, o)
	}
}

// upbringing are the options of a child.
func upbringing(n int) []workflow.ChildOption {
	policies := []workflow.ParentClosePolicy{"", workflow.ParentCloseTerminate, workflow.ParentCloseAbandon}
	return []workflow.ChildOption{workflow.OnParentClose(policies[n%3]), workflow.Delay(time.Duration(n/3) * time.Second)}
}

func (p *interpreter) nested(wf *workflow.Context, o op) {
	switch o.verb {
	case "map":
		out, err := workflow.Map(wf, make([]int, o.n%3+1), func(wf *workflow.Context, _ int) (int, error) {
			p.run(wf, o.body)
			return len(p.log), wf.Err()
		})
		p.say("map %v %s", out, told(err))
	case "go":
		workflow.Go(wf, func(wf *workflow.Context) { p.run(wf, o.body) })
	case "retry":
		tries := 0
		policy := retry.Policy{MaxAttempts: o.n%3 + 1, Backoff: retry.Fixed(time.Second), AttemptTimeout: time.Duration(o.n/2) * time.Second}
		_, err := workflow.Retry(wf, policy, func(wf *workflow.Context) (int, error) {
			tries++
			p.run(wf, o.body)
			return 0, fmt.Errorf("try %d: %w", tries, errDeclined)
		})
		p.say("retry %s", told(err))
	case "timeout":
		_, err := workflow.Timeout(wf, time.Duration(o.n)*time.Second, func(wf *workflow.Context) (int, error) {
			p.run(wf, o.body)
			return 0, wf.Err()
		})
		p.say("timeout %s", told(err))
	case "scope":
		scope, cancel := workflow.WithCancel(wf)
		workflow.Go(scope, func(wf *workflow.Context) { p.run(wf, o.body) })
		slept := workflow.Sleep(wf, time.Duration(o.n)*time.Second)
		cancel()
		p.say("scope %s", told(slept))
	case "shield":
		p.run(workflow.Shield(wf), o.body)
	case "channel":
		ch := workflow.NewChannel[int](wf, o.n%3)
		workflow.Go(wf, func(wf *workflow.Context) {
			p.run(wf, o.body)
			for i := range 3 {
				p.say("sent %s", told(ch.Send(wf, i)))
			}
			ch.Close(wf)
		})
		timer := workflow.NewTimer(wf, time.Duration(o.n)*time.Second)
		first := workflow.WaitAny(wf, ch.Receivable(), timer)
		v, err := ch.Receive(wf)
		p.say("channel %d %d %s", first, v, told(err))
	}
}

// TestI5_ReplayOfAnyPrefix plays random programs against random inputs, slots,
// crashes and times without code. At every step a machine that was made from the
// records just then is given the same arguments and must take the same step; the
// driver compares the machines themselves. At the end every prefix of the history
// is replayed.
func TestI5_ReplayOfAnyPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ops := drawOps(t, 2)
		t.Logf("program %v", ops)
		program := random(ops)
		d := newDriver(t, program, 0)
		d.start.RunTimeout = rapid.SampledFrom([]time.Duration{0, 0, 20 * time.Second}).Draw(t, "run timeout")
		d.near = int64(rapid.SampledFrom([]time.Duration{0, 2 * time.Second}).Draw(t, "near"))
		d.drop()
		d.run, d.instance = d.build(program)
		steps := rapid.IntRange(1, 40).Draw(t, "steps")
		for i := 0; i < steps && !d.run.Ended(); i++ {
			twinStep(t, d, drawInputs(t, d, program))
		}
		for n := range d.turns {
			_, instance, err := d.loadTurns(program, d.turns[:n+1], nil, core.State{})
			if <-instance.Close(); err != nil {
				t.Fatalf("the first %d turns do not replay: %v", n+1, err)
			}
		}
	})
}

// drawInputs draws what happens next: time, the loss of the machine or its code,
// and inputs.
func drawInputs(t *rapid.T, d *driver, program maker) []core.Input {
	before := d.now
	d.now += int64(rapid.SampledFrom([]time.Duration{0, 0, time.Second, 5 * time.Second, 30 * time.Second}).Draw(t, "wait"))
	if due := d.run.NextDue(); due != core.Never && rapid.Bool().Draw(t, "until due") {
		d.now = max(d.now, due)
	}
	var err error
	switch rapid.IntRange(0, 14).Draw(t, "machine") {
	case 0:
		err = d.crash(d.code)
	case 1:
		err = d.crash(nil)
	case 2, 3, 4:
		if d.code == nil {
			err = d.reload(program)
		}
	}
	if err != nil {
		t.Fatalf("the run cannot be loaded: %v", err)
	}
	inputs := []core.Input{core.TakenOver{Alive: d.alive()}}
	for _, ref := range d.alive() {
		if rapid.IntRange(0, 3).Draw(t, "beats") == 0 {
			details, _ := history.Encode(len(d.turns))
			inputs = append(inputs, core.Heartbeat{Call: ref.Call, Attempt: ref.Attempt, Details: details, At: d.now})
		}
		if rapid.Bool().Draw(t, "ends") {
			inputs = append(inputs, drawEnd(t, d, ref))
		}
	}
	for _, ref := range d.alive() {
		if d.running[ref].Probation && rapid.Bool().Draw(t, "off probation") {
			inputs = append(inputs, core.OffProbation{AttemptRef: ref})
		}
	}
	rows := d.calls()
	for _, n := range slices.Sorted(maps.Keys(rows)) {
		if rows[n].State == core.Queued && rapid.Bool().Draw(t, "granted") {
			inputs = append(inputs, core.Granted{Call: n})
		}
		if rows[n].State == core.External {
			inputs = append(inputs, drawOutside(t, d, core.AttemptRef{Call: n, Attempt: rows[n].Attempt})...)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(rows)) {
		if p, err := core.DecodeProgress(rows[n].Data); err == nil && p.Untold && rapid.Bool().Draw(t, "told") {
			inputs = append(inputs, core.Told{AttemptRef: core.AttemptRef{Call: n, Attempt: rows[n].Attempt}})
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(d.asked), func(a, b askedGate) int {
		return cmp.Or(cmp.Compare(a.call, b.call), cmp.Compare(a.gate, b.gate))
	}) {
		if rapid.IntRange(0, 2).Draw(t, "gate answers") > 0 {
			inputs = append(inputs, drawGate(t, d, key))
		}
	}
	for _, n := range slices.Sorted(maps.Keys(d.children)) {
		if rapid.IntRange(0, 3).Draw(t, "child") == 0 {
			inputs = append(inputs, drawChild(t, d, n))
		}
	}
	others := len(inputs)
	switch rapid.IntRange(0, 23).Draw(t, "message") {
	case 7, 8, 9, 10, 11:
		inputs = append(inputs, drawControl(t))
	case 21, 22, 23:
		inputs = append(inputs, drawRunControl(t))
	case 0, 1, 2, 3:
		value, _ := history.Encode(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "value"))
		id := rapid.SampledFrom([]string{"", "1", "2", "3", "4"}).Draw(t, "id")
		inputs = append(inputs, core.Control{Operation: core.SignalTheRun, Signal: "approval", SignalID: id, Value: value})
	case 4:
		inputs = append(inputs, core.Control{Operation: core.CancelTheRun, Reason: "enough"})
	case 5:
		inputs = append(inputs, core.AttemptEnded{Call: 1, Attempt: 1, Outcome: core.Completed})
	case 6:
		inputs = append(inputs, core.Granted{Call: 1})
	}
	if len(inputs) > others && rapid.Bool().Draw(t, "asked before") { // what was due since is later
		at := before + (d.now-before)*rapid.Int64Range(0, 4).Draw(t, "quarters")/4
		inputs[others] = core.Timed{Input: inputs[others], At: at}
	}
	return inputs
}

// drawChild draws what becomes of a child. It may be said again, even when it is too
// late.
func drawChild(t *rapid.T, d *driver, call int64) core.Input {
	child := d.children[call]
	in := core.FromChild{Call: call, Run: child.run, Status: core.ChildStarted}
	if !child.detached {
		in.Status = string(rapid.SampledFrom([]core.Status{core.StatusCompleted, core.StatusFailed, core.StatusCanceled, core.StatusTerminated, core.StatusTimedOut}).Draw(t, "end"))
	}
	switch in.Status {
	case string(core.StatusCompleted):
		in.Result, _ = history.Encode("delivered")
	case string(core.StatusFailed):
		in.Failure = history.FromError(errDeclined)
	case string(core.StatusCanceled):
		in.Failure = history.FromError(context.Canceled)
	}
	if rapid.IntRange(0, 5).Draw(t, "in use") == 0 {
		in = core.FromChild{Call: call, Run: "another", Status: core.ChildIDInUse, Note: "running"}
	}
	return in
}

// drawGate draws what a gate says to a run that asked it. A grant it may repeat, also
// when it is too late.
func drawGate(t *rapid.T, d *driver, key askedGate) core.Input {
	asked := d.asked[key]
	in := core.FromGate{Gate: asked.Gate, Word: core.GateGranted, Ticket: asked.Ticket, Attempt: asked.Attempt, Returns: asked.Returns}
	if asked.Word == core.GateBackoff {
		in.Word = rapid.SampledFrom([]core.GateWord{core.GateAllowed, core.GateRefused}).Draw(t, "verdict")
		in.Reason = retry.ReasonBudget
	} else if rapid.IntRange(0, 9).Draw(t, "refused") == 0 {
		in.Word, in.Reason = core.GateRefused, retry.ReasonBreaker
	}
	if asked.Word == core.GateBackoff || in.Word == core.GateRefused {
		delete(d.asked, key)
	}
	return in
}

// drawControl draws what a person does to calls.
func drawControl(t *rapid.T) core.Input {
	in := core.Control{
		ID: fmt.Sprint(rapid.IntRange(1, 30).Draw(t, "request")), By: "ann", Reason: "so",
		Operation: rapid.SampledFrom(core.CallOperations).Draw(t, "operation"),
	}
	in.Calls.Call = rapid.Int64Range(0, 4).Draw(t, "selected call")
	in.Calls.States = rapid.SampledFrom([][]string{nil, nil, {"backoff"}, {"paused", "quarantined"}}).Draw(t, "selected states")
	in.Failure = history.FromError(errDeclined)
	in.Result, _ = history.Encode(rapid.SampledFrom([]any{"by hand", 7}).Draw(t, "result"))
	policy := policies[rapid.IntRange(0, len(policies)-1).Draw(t, "edited policy")]
	if in.Operation == core.EditPolicy {
		in.Policy = &policy
	}
	return in
}

// drawRunControl draws what a person does to the run.
func drawRunControl(t *rapid.T) core.Input {
	in := core.Control{
		ID: fmt.Sprint("run ", rapid.IntRange(1, 30).Draw(t, "request")), By: "ann", Reason: "so", Signal: "approval",
		Operation: rapid.SampledFrom([]core.Operation{
			core.PauseTheRun, core.PauseTheRun, core.ResumeTheRun, core.ResumeTheRun, core.ResumeTheRun, core.CancelTheRun, core.SignalTheRun,
		}).Draw(t, "operation"),
	}
	in.Value, _ = history.Encode("by hand")
	return in
}

// drawOutside draws what is said of an attempt outside, in this second or the one
// before.
func drawOutside(t *rapid.T, d *driver, ref core.AttemptRef) []core.Input {
	at := d.now - int64(rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "said"))
	switch rapid.IntRange(0, 3).Draw(t, "outside") {
	case 0:
		return []core.Input{core.Heartbeat{Call: ref.Call, Attempt: ref.Attempt, At: at}}
	case 1:
		end := drawEnd(t, d, ref).(core.AttemptEnded)
		end.Ended = at
		if end.Outside = true; end.Outcome != core.Completed {
			end.Outcome, end.Failure = core.Failed, history.FromError(errDeclined)
		}
		return []core.Input{end}
	}
	return nil
}

// drawEnd draws how an attempt ends.
func drawEnd(t *rapid.T, d *driver, ref core.AttemptRef) core.Input {
	end := core.AttemptEnded{Call: ref.Call, Attempt: ref.Attempt, Outcome: core.Failed, Ended: d.now}
	var err error
	switch rapid.IntRange(0, 8).Draw(t, "outcome") {
	case 8:
		end.Outcome = core.Pending
	case 0, 1:
		end.Outcome = core.Completed
		end.Result, _ = history.Encode("ok")
	case 2:
		end.Outcome, err = core.TimedOut, &retry.TimeoutError{Kind: retry.TimeoutAttempt, Limit: time.Second}
	case 3:
		end.Outcome = core.Drained
	case 4:
		err = retry.Terminal(errDeclined)
	case 5:
		err = &scriptError{"Fatal", "fatal"}
	case 6:
		err = context.Canceled
	case 7:
		err = fmt.Errorf("attempt: %w", errDeclined)
	}
	end.Failure = history.FromError(err)
	return end
}

// twinStep lets a machine that was made from the records take the same step.
func twinStep(t *rapid.T, d *driver, inputs []core.Input) {
	slots := rapid.IntRange(0, 3).Draw(t, "slots")
	queued := map[int64]bool{}
	for n, row := range d.calls() {
		queued[n] = row.State == core.Queued
	}
	admit := func() func(*core.Call) bool {
		left := slots
		return func(c *core.Call) bool {
			if queued[c.Number] {
				return false // waits for its grant, in both
			}
			left--
			return left >= 0
		}
	}
	if len(d.turns) > 0 {
		twin, instance, err := d.load(d.code)
		if err != nil {
			t.Fatal(err)
		}
		turn, err := twin.Step(d.now, inputs, admit())
		if instance != nil {
			<-instance.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		got := turnText(turn)
		t.Logf("inputs %+v\n%s", inputs, renderTurn(turn))
		stepped, err := d.step(inputs, admit())
		if err != nil {
			t.Fatal(err)
		}
		if want := turnText(stepped); got != want {
			t.Fatalf("a machine made from the records takes another step\n--- in memory\n%s\n--- from records\n%s", want, got)
		}
		return
	}
	turn, err := d.step(inputs, admit())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("inputs %+v\n%s", inputs, renderTurn(turn))
}

func turnText(turn *core.Turn) string {
	data, err := json.Marshal(turn)
	if err != nil {
		return err.Error()
	}
	return renderTurn(turn) + string(data)
}
