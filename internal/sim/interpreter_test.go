package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

var (
	number = workflow.NewSignal[int]("number")
	echoed = workflow.NewSignal[int]("echo")
	count  = workflow.NewUpdate[int, int]("count")
)

var errUnlucky = errors.New("unlucky")

// narrow lets two attempts pass at a time, and of each run key few a second; and for a while none of
// a key of which one has failed.
var narrow = gate.New("narrow", narrowness, gate.WithPerKey(gate.PerKey{Rate: gate.Rate{PerSecond: 5, Burst: 2}}),
	gate.WithBreaker(gate.Breaker{Failures: 1, Cooldown: 1200 * time.Millisecond, Wait: true, PerKey: true}),
	gate.WithBudget(gate.Budget{Tokens: 1_000_000, PerKey: true}))

const (
	narrowness = 2
	queueName  = "far"
	queueLimit = 2
)

// persistent is a policy with which a call succeeds in the end, however often its process dies.
func persistent(p retry.Policy) activity.Option {
	p.MaxAttempts, p.CrashLimit, p.Backoff = 1000, 1000, retry.Fixed(700*time.Millisecond)
	return activity.Retry(p)
}

// failures is how often a failing call is made.
const failures = 3

// The definitions are the same in all worlds: what they do is said by their inputs, and by the
// node that they find in their contexts.
var (
	plainCall   = activity.New("plain", plainBody, persistent(retry.Policy{}))
	timedCall   = activity.New("timed", plainBody, persistent(retry.Policy{AttemptTimeout: 900 * time.Millisecond}))
	gatedCall   = activity.New("gated", plainBody, persistent(retry.Policy{}), activity.Through(narrow))
	queuedCall  = activity.New("queued", plainBody, persistent(retry.Policy{}), activity.Queue(queueName))
	writtenCall = activity.New("written", writtenBody, persistent(retry.Policy{}))
	beatingCall = activity.New("beating", beatingBody, persistent(retry.Policy{HeartbeatTimeout: 3 * time.Second}))
	outsideCall = activity.New("outside", outsideBody, persistent(retry.Policy{AttemptTimeout: 20 * time.Second}))
	remoteCall  = activity.New("remote", outsideBody, persistent(retry.Policy{AttemptTimeout: 20 * time.Second}), activity.Queue(queueName))
	failingCall = activity.New("failing", failingBody,
		activity.Retry(retry.Policy{MaxAttempts: failures, CrashLimit: 1000, Backoff: retry.Fixed(500 * time.Millisecond)}))

	deadlyCall      activity.Activity[int, int]
	roaming, pinned workflow.Workflow[job, int]
	short           workflow.Workflow[uint64, int]
	timed           workflow.Workflow[int, int] // what schedules start
	retried         workflow.Workflow[int, int]
)

func init() { // the code names the definitions
	retry.RegisterError("unlucky", errUnlucky)
	short = workflow.New("short", shortCode)
	deadlyCall = activity.New("deadly", deadlyBody, persistent(retry.Policy{}))
	timed = workflow.New("timed", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, plainCall, n) })
	retried = workflow.New("retried", retriedCode, workflow.RetryPolicy(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Second)}))
	roaming = workflow.New("roaming", jobCode, workflow.Version("one"))
	pinned = workflow.New("pinned", jobCode, workflow.Pinned(), workflow.Version("one"))
}

// definitions are what nodes have.
func definitions() ([]seal.Workflow, []seal.Activity) {
	return []seal.Workflow{roaming, pinned, short, timed, retried},
		[]seal.Activity{plainCall, timedCall, gatedCall, queuedCall, writtenCall, beatingCall, outsideCall, remoteCall, failingCall, deadlyCall, chargeCall, farChargeCall}
}

// flow is the definition of a job.
func (j *job) flow() workflow.Workflow[job, int] {
	if j.Pinned {
		return pinned
	}
	return roaming
}

// jobCode is the code of all programs.
func jobCode(wf *workflow.Context, in job) (int, error) {
	answered := 0
	workflow.HandleUpdate(wf, count, func(wf *workflow.Context, n int) (int, error) {
		if n%3 == 0 {
			if _, err := workflow.Call(wf, plainCall, n); err != nil {
				return 0, err
			}
		}
		in.Updates++
		answered++
		return in.Updates, nil
	})
	program := in.program()
	x := &interpreter{seed: in.Seed, value: in.Value}
	for i := in.From; i < len(program); i++ {
		if program[i].kind == anew {
			if err := workflow.FinishUpdates(wf); err != nil {
				return 0, err
			}
			return workflow.ContinueAsNew(wf, in.flow(), job{Seed: in.Seed, Of: in.Of, From: i + 1, Value: x.value, Updates: in.Updates, Pinned: in.Pinned})
		}
		if err := x.perform(wf, &program[i]); err != nil {
			return 0, err
		}
	}
	return x.value, workflow.FinishUpdates(wf)
}

// shortCode is the code of children and of programs that were started detached.
func shortCode(wf *workflow.Context, seed uint64) (int, error) {
	x := &interpreter{seed: seed}
	err := x.all(wf, sub(seed))
	return x.value, err
}

// retriedCode fails in the first run of its chain.
func retriedCode(wf *workflow.Context, n int) (int, error) {
	got, err := workflow.Call(wf, plainCall, n)
	if err == nil && workflow.GetInfo(wf).Attempt == 1 {
		return 0, errUnlucky
	}
	return got, err
}

// interpreter carries out a program.
type interpreter struct {
	seed  uint64
	value int
}

func (x *interpreter) all(wf *workflow.Context, statements []statement) error {
	for i := range statements {
		if err := x.perform(wf, &statements[i]); err != nil {
			return err
		}
	}
	return nil
}

func (x *interpreter) perform(wf *workflow.Context, s *statement) error {
	switch s.kind {
	case block:
		return x.block(wf, s)
	case spread:
		return x.spread(wf, s)
	case undone:
		return x.undone(wf, s)
	case anew, patience:
		return workflow.FinishUpdates(wf)
	}
	got, err := x.simple(wf, s)
	if err == nil {
		x.value = after(x.value, got)
	}
	return err
}

// simple carries out a statement that has no parts, and returns with what it changes the value.
func (x *interpreter) simple(wf *workflow.Context, s *statement) (int, error) {
	switch n := s.number; s.kind {
	case call:
		if n%4 == 0 {
			return workflow.Call(wf, timedCall, n)
		}
		return workflow.Call(wf, plainCall, n)
	case gated:
		return workflow.Call(wf, gatedCall, n)
	case queued:
		return workflow.Call(wf, queuedCall, n)
	case written:
		return workflow.Call(wf, writtenCall, n)
	case beating:
		return workflow.Call(wf, beatingCall, n)
	case outside:
		if n%3 == 0 {
			return workflow.Call(wf, remoteCall, n)
		}
		return workflow.Call(wf, outsideCall, n)
	case charged:
		if n%3 == 0 {
			return workflow.Call(wf, farChargeCall, n)
		}
		return workflow.Call(wf, chargeCall, n)
	case deadly:
		return workflow.Call(wf, deadlyCall, n)
	case failing:
		_, err := workflow.Call(wf, failingCall, n)
		if exhausted, is := errors.AsType[*retry.ExhaustedError](err); is && errors.Is(exhausted, errUnlucky) {
			return n, nil
		}
		return 0, fmt.Errorf("a call that fails %d times ended with %w", failures, err)
	case step:
		return workflow.Do(wf, "step", func(ctx context.Context) (int, error) { return plainBody(ctx, n) }, persistent(retry.Policy{}))
	case nap:
		return n, workflow.Sleep(wf, time.Duration(dice(n).of("nap").below(3000))*time.Millisecond)
	case signal:
		return workflow.Receive(wf, number)
	case echo:
		if err := workflow.Send(wf, workflow.GetInfo(wf).WorkflowID, echoed, n); err != nil {
			return 0, err
		}
		return workflow.Receive(wf, echoed)
	case again:
		return workflow.RunChild(wf, retried, n)
	case child:
		return workflow.RunChild(wf, short, subseed(x.seed, n))
	case apart:
		seed := subseed(x.seed, n)
		_, err := workflow.StartDetached(wf, short, seed, workflow.ChildID(apartID(seed)), workflow.ChildReuse(workflow.ReuseOwn))
		return n, err
	case limited:
		_, err := workflow.Timeout(wf, 400*time.Millisecond, func(wf *workflow.Context) (int, error) {
			return 0, workflow.Sleep(wf, time.Hour)
		})
		if _, late := errors.AsType[*retry.TimeoutError](err); late {
			return n, nil
		}
		return 0, fmt.Errorf("a wait of an hour ended with %w after 400 ms", err)
	}
	panic(fmt.Sprintf("no statement does %d", s.kind))
}

// block retries statements as a whole: the first time they are done, and then fail.
func (x *interpreter) block(wf *workflow.Context, s *statement) error {
	before, tries := x.value, 0
	policy := retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(300 * time.Millisecond)}
	value, err := workflow.Retry(wf, policy, func(wf *workflow.Context) (int, error) {
		in := &interpreter{seed: x.seed, value: before}
		if err := in.all(wf, s.parts[0]); err != nil {
			return 0, err
		}
		if tries++; tries == 1 {
			return 0, errUnlucky
		}
		return in.value, nil
	})
	x.value = value
	return err
}

// spread carries out statements beside each other.
func (x *interpreter) spread(wf *workflow.Context, s *statement) error {
	values, err := workflow.Map(wf, []int{0, 1, 2}[:len(s.parts)], func(wf *workflow.Context, i int) (int, error) {
		in := &interpreter{seed: x.seed, value: i}
		err := in.all(wf, s.parts[i])
		return in.value, err
	})
	for _, v := range values {
		x.value = after(x.value, v)
	}
	return err
}

// undone carries out statements as a saga that fails, and undoes them.
func (x *interpreter) undone(wf *workflow.Context, s *statement) error {
	in, undos := &interpreter{seed: x.seed, value: x.value}, 0
	_, err := workflow.Saga(wf, func(wf *workflow.Context, undo *workflow.Undo) (int, error) {
		for i := range s.parts[0] {
			if err := in.perform(wf, &s.parts[0][i]); err != nil {
				return 0, err
			}
			undo.Add("undo", func(wf *workflow.Context) error {
				undos++
				_, err := workflow.Call(wf, plainCall, -s.number-i)
				return err
			})
		}
		return 0, errUnlucky
	})
	if undos != len(s.parts[0]) || !errors.Is(err, errUnlucky) {
		return fmt.Errorf("%d of %d statements were undone: %w", undos, len(s.parts[0]), err)
	}
	x.value = after(x.value, in.value)
	return nil
}
