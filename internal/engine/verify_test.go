package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// bank is a provider without idempotency keys. It does the work a second after it was asked,
// and loses the answer of the first requests.
type bank struct {
	mu      sync.Mutex
	loses   int // so many answers
	charged map[string]int
	asked   []retry.Doubt
	answers []activity.Found[string] // if set, instead of the truth, in turn
}

var errLost = errors.New("connection reset by peer")

func newBank(loses int) *bank { return &bank{loses: loses, charged: map[string]int{}} }

// charge is a body. What it has sent arrives, whatever becomes of the body.
func (b *bank) charge(ctx context.Context, order string) (string, error) {
	arrived := make(chan bool, 1)
	time.AfterFunc(time.Second, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.charged[order]++
		b.loses--
		arrived <- b.loses >= 0
	})
	select {
	case lost := <-arrived:
		if lost {
			return "", retry.Unknown(errLost)
		}
		return "receipt of " + order, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// find is the question about it.
func (b *bank) find(_ context.Context, order string, d activity.Doubt) (activity.Found[string], error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, d)
	if len(b.answers) > 0 {
		answer := b.answers[0]
		b.answers = b.answers[1:]
		return answer, nil
	}
	if b.charged[order] > 0 {
		return retry.Done("receipt of " + order), nil
	}
	return retry.Absent[string](), nil
}

func (b *bank) times(order string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.charged[order]
}

// charging is the activity, and a workflow that calls it.
func charging(b *bank, opts ...activity.Option) (activity.Activity[string, string], workflow.Workflow[string, string]) {
	opts = append([]activity.Option{activity.Verify(b.find), activity.SettleAfter(5 * time.Second), exactly(10*time.Second, 3)}, opts...)
	a := activity.New("charge", b.charge, opts...)
	return a, workflow.New("pay", func(wf *workflow.Context, order string) (string, error) {
		receipt, err := workflow.Call(wf, a, order)
		if err != nil {
			return "", err
		}
		return receipt, workflow.Sleep(wf, time.Second)
	})
}

// TestU5_U9_ChargedOnceWhateverIsStruck: at each write and in each way. Nothing is charged
// twice or not at all, and the ledger has each attempt and each question.
func TestU5_U9_ChargedOnceWhateverIsStruck(t *testing.T) {
	for _, in := range everywhere {
		if in.onDisk {
			continue
		}
		for _, blow := range blows {
			if testing.Short() && (!in.resident || blow.name != "crash-after") {
				continue
			}
			t.Run(in.name+"/"+blow.name, func(t *testing.T) {
				t.Parallel()
				var b *bank
				perduretest.EveryWrite(t, blow.fault, func(t *testing.T, env *perduretest.Env) {
					b = newBank(1)
					a, pay := charging(b)
					env.Register(a, pay)
					h, err := perduretest.Start(env, pay, "order", "1")
					if err != nil {
						t.Fatal(err)
					}
					receipt, err := h.Result()
					time.Sleep(10 * time.Second)
					if err != nil || receipt != "receipt of 1" || b.times("1") != 1 {
						t.Errorf("%q after %d charges, %v\n%s", receipt, b.times("1"), err, trail(h.Attempts()))
					}
					for _, x := range h.Attempts() {
						if asked := slices.ContainsFunc(b.asked, func(d retry.Doubt) bool { return d.Attempt == x.Number }); x.Outcome == view.OutcomeFailed && !asked {
							t.Errorf("nobody asked about attempt %d\n%s", x.Number, trail(h.Attempts()))
						}
					}
				}, stageIn(t, in)...)
			})
		}
	}
}

// stageIn is where runs take place, each with an empty database of this setting.
func stageIn(t *testing.T, in setting) []perduretest.Option {
	empty := in.prepare(t, 1)
	options := []perduretest.Option{
		perduretest.Store(func() store.Opener { return empty(here) }), perduretest.Patience(24 * time.Hour),
		perduretest.Engine(perdure.Logger(slog.New(slog.DiscardHandler))),
	}
	if in.resident {
		options = append(options, perduretest.Resident())
	}
	return options
}

// trail is the ledger in words.
func trail(all []view.Attempt) string {
	var words []string
	for _, a := range all {
		words = append(words, fmt.Sprintf("%d %s %s", a.Number, a.Outcome, a.Reason))
	}
	return strings.Join(words, ", ")
}

// TestU2_U3_AQuestionIsToldAll about the attempt, and runs in a body's context.
func TestU2_U3_AQuestionIsToldAll(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		var told []retry.Doubt
		var place string
		var info activity.Info
		a := activity.New("charge", func(ctx context.Context, order string) (string, error) {
			if err := activity.Heartbeat(ctx, "reference of "+order); err != nil {
				return "", err
			}
			time.Sleep(time.Second)
			return "", retry.Unknown(errLost)
		}, exactly(time.Minute, 3), activity.SettleAfter(7*time.Second), activity.Verify(func(ctx context.Context, order string, d activity.Doubt) (activity.Found[string], error) {
			told = append(told, d)
			info, _ = activity.FromContext(ctx)
			place, _, _ = activity.Details[string](ctx)
			if d.Question == 1 {
				return retry.AskAgain[string](time.Minute), nil
			}
			return retry.Done("found"), nil
		}))
		pay := workflow.New("pay", func(wf *workflow.Context, order string) (string, error) { return workflow.Call(wf, a, order) })
		e := w.start(a, pay)
		begun := time.Now()
		same(t, "the result", complete(t, e, pay, "order", "7"), "found")
		if took := time.Since(begun); took < 68*time.Second || took > 70*time.Second {
			t.Errorf("it took %s", took)
		}
		run := describe(t, e, "order").RunID
		for i, d := range told {
			if d.Question != i+1 || d.Attempt != 1 || d.ID != core.AttemptID(run, 1, 1) || d.Key != core.CallID(run, 1) || d.Outcome != "failed" ||
				!errors.Is(d.Err, d.Err) || d.Err == nil || d.End.Sub(d.Start) < time.Second || d.Node == "" {
				t.Errorf("question %d was told %+v", i+1, d)
			}
		}
		same(t, "the details", place, "reference of 7")
		same(t, "the question of the info", info.Question, 2)
		same(t, "the ID of the second question", info.AttemptID, core.AttemptID(run, 1, 3))
		if len(told) != 2 {
			t.Errorf("%d questions", len(told))
		}
	})
}

// TestU5_InDoubtUntilAPersonDecides: questions that fail are used up, and then nothing runs.
func TestU5_InDoubtUntilAPersonDecides(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		b := newBank(1)
		b.answers = make([]activity.Found[string], 5) // none of which is an answer
		a, pay := charging(b)
		e := w.start(a, pay)
		begin(t, e, pay, "order", "9")
		pass(time.Hour)
		d := describe(t, e, "order")
		if len(d.Pending) != 1 || d.Pending[0].State != view.CallInDoubt || d.Pending[0].Doubt == nil || d.Pending[0].Doubt.Attempt != 1 || d.Pending[0].Doubt.Question != 5 || d.Pending[0].Questions != 5 {
			t.Fatalf("it waits as %+v", d.Pending)
		}
		if len(b.asked) != 5 || b.times("9") != 1 {
			t.Errorf("asked %d times, charged %d times", len(b.asked), b.times("9"))
		}
		w.kill(e)
		e = w.start(a, pay)
		control(t, e, "order", core.Control{Operation: core.Ask})
		pass(time.Minute)
		same(t, "the run", describe(t, e, "order").Status, "completed")
		same(t, "charges", b.times("9"), 1)
	})
}

// TestU5_CallsAreFoundByTheirAttempts, not by their questions, which have numbers, too.
func TestU5_CallsAreFoundByTheirAttempts(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		b := newBank(3)
		b.answers = []activity.Found[string]{{}, {}, {}, {}, {}, retry.Absent[string]()}
		a, pay := charging(b)
		e := w.start(a, pay)
		for _, order := range []string{"1", "2"} {
			begin(t, e, pay, order, order)
			pass(2 * time.Minute)
		}
		for more, want := range []string{"[2 2 2 1 1 5]", "[2 2 2]", "[]"} {
			for _, limit := range []int{1, 2, 0} {
				var found []any
				f := view.AttemptFilter{MoreThan: more, Limit: limit}
				for {
					page, next, err := e.FindCalls(t.Context(), f)
					if err != nil {
						t.Fatal(err)
					}
					for _, c := range page {
						found = append(found, c.WorkflowID, c.Attempts, c.Questions)
					}
					if f.After = next; next == "" {
						break
					}
				}
				if got := fmt.Sprint(found); got != want {
					t.Errorf("pages of %d of the calls with more than %d attempts have %s, not %s", limit, more, got, want)
				}
			}
		}
	})
}

// TestU6_AResetSaysWhatMayHaveBeenDone: the next run knows nothing of an attempt that is under way,
// and asks nobody. So the dry run of a reset or a fork names its call.
func TestU6_AResetSaysWhatMayHaveBeenDone(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		slow := func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		asked := activity.New("asked", slow, activity.Verify(func(context.Context, string, activity.Doubt) (activity.Found[string], error) {
			return retry.Absent[string](), nil
		}))
		once := activity.New("once", slow, activity.Retry(retry.Policy{CrashLimit: 1}))
		plain := activity.New("plain", slow)
		quick := activity.New("quick", func(context.Context, string) (string, error) { return "", nil })
		both := workflow.New("both", func(wf *workflow.Context, order string) (string, error) {
			for _, a := range []activity.Activity[string, string]{asked, once, plain} {
				workflow.Async(wf, a, order)
			}
			if _, err := workflow.Call(wf, quick, order); err != nil {
				return "", err
			}
			return "", workflow.Sleep(wf, 2*time.Hour)
		})
		e := w.start(asked, once, plain, quick, both)
		begin(t, e, both, "order", "7")
		settle()
		preview, err := e.Preview(t.Context(), "order", core.Control{Operation: core.ResetTheRun, Call: 5})
		if err != nil || len(preview) != 1 {
			t.Fatalf("%+v, %v", preview, err)
		}
		const want = "; perhaps done, and made again without a question: call 1 (asked), 2 (once)"
		if note := preview[0].Note; !strings.HasSuffix(note, want) {
			t.Errorf("the dry run says %q", note)
		}
		if note, err := e.PreviewFork(t.Context(), request.Fork{WorkflowID: "order", NewID: "copy", Call: 4}); err != nil || !strings.HasSuffix(note, "call 4 (quick)"+want) {
			t.Errorf("the dry run of a fork says %q, %v", note, err)
		}
	})
}
