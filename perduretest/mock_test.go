package perduretest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

type letter struct {
	To    string
	Cents int
}

// post is declared with a policy; only tests have a body for it.
var post = activity.Declare[letter, string]("post", activity.Retry(retry.Policy{
	MaxAttempts: 4, Backoff: retry.Fixed(time.Hour), Jitter: retry.NoJitter, AttemptTimeout: time.Minute,
}))

// mailing posts letters one after the other.
var mailing = workflow.New("mailing", func(wf *workflow.Context, to []string) ([]string, error) {
	var receipts []string
	for i, name := range to {
		receipt, err := workflow.Call(wf, post, letter{name, i})
		if err != nil {
			return receipts, err
		}
		receipts = append(receipts, receipt)
	}
	return receipts, nil
})

func accept(_ context.Context, l letter) (string, error) { return "to " + l.To, nil }

var errFull = errors.New("the mailbox is full")

func TestMocksAnswerByInputAndRemember(t *testing.T) {
	Test(t, func(t *testing.T, env *Env) {
		env.Register(mailing)
		m := Mock(env, post, func(ctx context.Context, l letter) (string, error) {
			if info, _ := activity.FromContext(ctx); l.To == "bob" && info.Attempt < 3 {
				return "", errFull
			}
			return accept(ctx, l)
		})
		got, err := Run(env, mailing, "m", []string{"ann", "bob"})
		if err != nil || !slices.Equal(got, []string{"to ann", "to bob"}) {
			t.Errorf("got %q, %v", got, err)
		}
		if want := []letter{{"ann", 0}, {"bob", 1}}; !slices.Equal(m.Inputs(), want) || m.Calls() != 2 {
			t.Errorf("%d calls with %v, want %v", m.Calls(), m.Inputs(), want)
		}
		var attempts []int
		for _, x := range m.Executions() {
			attempts = append(attempts, x.Attempt)
			if x.WorkflowID != "m" || x.Max != 4 || x.Deadline.Sub(x.Started) != time.Minute {
				t.Errorf("execution %+v: the options of the handle do not hold", x)
			}
		}
		if !slices.Equal(attempts, []int{1, 1, 2, 3}) {
			t.Errorf("the executions were attempts %v", attempts)
		}
	})
}

func TestMocksAnswerOneAfterTheOther(t *testing.T) {
	Test(t, func(t *testing.T, env *Env) {
		env.Register(mailing)
		refuse := func(context.Context, letter) (string, error) { return "", errFull }
		m := Mock(env, post, refuse, refuse, accept)
		if _, err := Run(env, mailing, "m", []string{"ann", "bob"}); err != nil {
			t.Error(err)
		}
		env.ExpectAttempts("m", post, "failed", "failed", "completed", "completed")
		if n := len(m.Executions()); n != 4 {
			t.Errorf("%d executions, want 4", n)
		}
	})
}

// A mock comes before an implementation, whichever was named first, and other
// mocks of the same activity before it.
func TestMocksOverrideImplementations(t *testing.T) {
	for _, first := range []bool{true, false} {
		Test(t, func(t *testing.T, env *Env) {
			real := post.Impl(func(context.Context, letter) (string, error) { return "really", nil })
			mock := func() { Mock(env, post, accept) }
			if first {
				mock()
			}
			env.Register(mailing, real)
			if !first {
				mock()
			}
			if got, err := Run(env, mailing, "m", []string{"ann"}); err != nil || got[0] != "to ann" {
				t.Errorf("mocked first: %t: got %q, %v", first, got, err)
			}
			Mock(env, post, func(context.Context, letter) (string, error) { return "anew", nil })
			env.Restart()
			if got, err := Run(env, mailing, "n", []string{"ann"}); err != nil || got[0] != "anew" {
				t.Errorf("after a restart: got %q, %v", got, err)
			}
		})
	}
}

func TestMocksThatNobodyNeedsFailTheTest(t *testing.T) {
	Test(t, func(t *testing.T, env *Env) {
		env.Register(mailing)
		typo := activity.Declare[letter, string]("psot")
		m := Mock(env, typo, accept)
		Mock(env, post, accept).Maybe()
		env.Inject(Step("measrue"), Hang)
		if _, err := Run(env, mailing, "m", nil); err != nil {
			t.Error(err)
		}
		said := strings.Join(env.idle(), "\n")
		for _, want := range []string{`Mock: "psot" was never called`, `Inject("measrue"): nothing of that name ran, so the fault (hangs) never happened`} {
			if !strings.Contains(said, want) {
				t.Errorf("the test is not told %q, but %q", want, said)
			}
		}
		if len(env.idle()) != 2 {
			t.Errorf("too much is complained of: %q", said)
		}
		m.Maybe()
		env.injections = nil
	})
}

func TestWhatCannotBeMockedOrInjectedIsRefused(t *testing.T) {
	Test(t, func(t *testing.T, env *Env) {
		for want, f := range map[string]func(){
			"the activity has no name":            func() { Mock(env, activity.Activity[letter, string]{}, accept) },
			`no body was given to answer for "po`: func() { Mock(env, post) },
			`was given to answer for "post"`:      func() { Mock(env, post, accept, nil) },
			"neither an activity nor a Step":      func() { env.Inject(mailing, Hang) },
			"is neither an activity":              func() { env.Inject(nil, Hang) },
			"can only happen to writes":           func() { env.Inject(post, FailBefore) },
			"can only happen to attempts":         func() { env.At(1, Fail(errFull)) },
			"cannot fail with a nil error":        func() { env.Inject(post, LoseAnswer(nil)) },
			"attempts are counted from 1":         func() { env.Inject(post, Hang, Attempts(0)) },
			"the probability is 1.5":              func() { env.Inject(post, Hang, Probability(1.5)) },
			"cannot happen 0 times":               func() { env.Inject(post, Hang, Times(0)) },
		} {
			if said := complaints(env, f); !strings.Contains(said, want) {
				t.Errorf("got %q, want %q", said, want)
			}
		}
	})
}

func TestFaultsOfAttempts(t *testing.T) {
	const mail = "mail"
	for _, c := range []struct {
		name     string
		inject   func(env *Env)
		outcomes []string
		delays   []time.Duration
		bodies   int // how often the body ran
		crashes  int
		message  string // of the first attempt
	}{
		{name: "fail twice then succeed", inject: func(env *Env) { env.Inject(post, Fail(errFull), Attempts(1, 2)) },
			outcomes: []string{"failed", "failed", "completed"}, delays: []time.Duration{time.Hour, time.Hour}, bodies: 1, message: errFull.Error()},
		{name: "a server that says when", inject: func(env *Env) { env.Inject(post, Fail(retry.After(errFull, 7*time.Minute)), Times(1)) },
			outcomes: []string{"failed", "completed"}, delays: []time.Duration{7 * time.Minute}, bodies: 1},
		{name: "for good", inject: func(env *Env) { env.Inject(post, Fail(retry.Terminal(errFull)), Of(mail)) },
			outcomes: []string{"failed"}},
		{name: "another workflow", inject: func(env *Env) { env.Inject(post, Fail(errFull), Of("another")) },
			outcomes: []string{"completed"}, bodies: 1},
		{name: "the answer is lost", inject: func(env *Env) { env.Inject(post, LoseAnswer(errFull), Attempts(1)) },
			outcomes: []string{"failed", "completed"}, delays: []time.Duration{time.Hour}, bodies: 2},
		{name: "panic", inject: func(env *Env) { env.Inject(post, Panic("boom"), Attempts(1)) },
			outcomes: []string{"failed", "completed"}, delays: []time.Duration{time.Hour}, bodies: 1, message: "panic: boom"},
		{name: "too slow", inject: func(env *Env) { env.Inject(post, Slow(2*time.Minute), Attempts(1)) },
			outcomes: []string{"timed-out", "completed"}, delays: []time.Duration{time.Hour}, bodies: 1},
		{name: "slow, then lost", inject: func(env *Env) {
			env.Inject(post, Slow(time.Second), Attempts(1))
			env.Inject(post, Fail(errFull), Attempts(1))
		}, outcomes: []string{"failed", "completed"}, delays: []time.Duration{time.Hour}, bodies: 1},
		{name: "hang", inject: func(env *Env) { env.Inject(post, Hang, Attempts(1)) },
			outcomes: []string{"timed-out", "completed"}, delays: []time.Duration{time.Hour}, bodies: 1},
		{name: "crash at the start", inject: func(env *Env) { env.Inject(post, CrashBefore, Attempts(1)) },
			outcomes: []string{"lost", "completed"}, bodies: 1, crashes: 1},
		{name: "crash at the end", inject: func(env *Env) { env.Inject(post, CrashAfter, Attempts(1)) },
			outcomes: []string{"lost", "completed"}, bodies: 2, crashes: 1},
		{name: "several crashes", inject: func(env *Env) { env.Inject(post, CrashAfter, Attempts(1, 2)) },
			outcomes: []string{"lost", "lost", "completed"}, bodies: 3, crashes: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			Test(t, func(t *testing.T, env *Env) {
				env.Register(mailing)
				m := Mock(env, post, accept)
				if c.bodies == 0 {
					m.Maybe()
				}
				c.inject(env)
				_, err := Run(env, mailing, mail, []string{"ann"})
				if failed := c.outcomes[len(c.outcomes)-1] != "completed"; failed != (err != nil) {
					t.Errorf("got %v", err)
				}
				env.ExpectAttempts(mail, post, c.outcomes...)
				if c.crashes == 0 {
					env.ExpectDelays(mail, post, c.delays...)
				}
				if n := len(m.Executions()); n != c.bodies || env.Crashes() != c.crashes {
					t.Errorf("the body ran %d times and the process died %d times; want %d and %d", n, env.Crashes(), c.bodies, c.crashes)
				}
				if a := env.Workflow(mail).Attempts()[0]; !strings.HasPrefix(a.Message, c.message) {
					t.Errorf("the first attempt says %q, want %q", a.Message, c.message)
				}
			})
		})
	}
}

// Steps can be hurt as activities are.
func TestFaultsOfSteps(t *testing.T) {
	Test(t, func(t *testing.T, env *Env) {
		env.Register(decorate, paint, frame)
		env.Inject(Step("measure"), CrashBefore, Attempts(1))
		env.Inject(Step("measure"), Fail(errFull), Attempts(2))
		env.After(24*time.Hour, func() {
			if err := dry.Send(t.Context(), env.Workflow("d"), "now"); err != nil {
				t.Error(err)
			}
		})
		if got, err := Run(env, decorate, "d", "red"); got != "red!now" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		env.ExpectAttempts("d", Step("measure"), "lost", "failed", "completed")
	})
}

// What is drawn depends on the seed and on nothing else.
func TestProbabilityIsReproducible(t *testing.T) {
	outcomes := func(seed uint64) (all []string) {
		Test(t, func(t *testing.T, env *Env) {
			env.Register(mailing)
			Mock(env, post, accept)
			env.Inject(post, Fail(errFull), Probability(0.3))
			if _, err := Run(env, mailing, "m", make([]string, 40)); err != nil {
				t.Error(err)
			}
			for _, a := range env.Workflow("m").Attempts() {
				all = append(all, a.Outcome)
			}
		}, Seed(seed))
		return all
	}
	one, again, two := outcomes(1), outcomes(1), outcomes(2)
	if !slices.Equal(one, again) || slices.Equal(one, two) {
		t.Errorf("seed 1 gives\n%q and\n%q, seed 2 gives\n%q", one, again, two)
	}
	if n := len(one) - 40; n < 5 || n > 40 {
		t.Errorf("%d of %d attempts failed, with a probability of 0.3", n, len(one))
	}
}

func TestAfterHappensAtItsTime(t *testing.T) {
	asked := workflow.NewQuery[string, string]("color")
	walls := workflow.New("walls", func(wf *workflow.Context, color string) (string, error) {
		workflow.HandleQuery(wf, asked, func(add string) (string, error) { return color + add, nil })
		return workflow.Receive(wf, dry)
	})
	Test(t, func(t *testing.T, env *Env) {
		env.Register(walls)
		began := time.Now()
		var answer string
		env.After(time.Hour, env.Crash)
		asking := env.After(2*time.Hour, func() { answer, _ = asked.Ask(t.Context(), env.Workflow("w"), "?") })
		env.After(3*time.Hour, func() {
			if err := env.Workflow("w").Cancel("enough"); err != nil {
				t.Error(err)
			}
		})
		env.After(1000*time.Hour, func() { t.Error("what was to happen after the end did") })
		_, err := Run(env, walls, "w", "red")
		<-asking
		var failed *perdure.RunError
		if !errors.As(err, &failed) || failed.Status != "canceled" || time.Since(began) != 3*time.Hour {
			t.Errorf("got %v after %s, want a canceled run after 3h", err, time.Since(began))
		}
		if env.Crashes() != 1 || answer != "red?" {
			t.Errorf("%d crashes, the answer is %q", env.Crashes(), answer)
		}
	})
}

// Environments of parallel tests have nothing to do with each other.
func TestEnvironmentsAreIndependent(t *testing.T) {
	for i := range 8 {
		i++
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			Test(t, func(t *testing.T, env *Env) {
				env.Register(mailing)
				m := Mock(env, post, func(_ context.Context, l letter) (string, error) { return fmt.Sprint(i, l.To), nil })
				env.Inject(post, CrashBefore, Attempts(1), Times(i))
				to := strings.Split(strings.Repeat("x", 8), "")
				got, err := Run(env, mailing, "m", to)
				if err != nil || got[7] != fmt.Sprint(i, "x") || m.Calls() != 8 || env.Crashes() != i {
					t.Errorf("got %q, %v after %d calls and %d crashes", got, err, m.Calls(), env.Crashes())
				}
			})
		})
	}
}
