package core_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Activities of the scripts. They never run: a script says how they end.
var (
	reserve = activity.Declare[int, string]("reserve")
	charge  = activity.Declare[int, string]("charge", activity.Retry(exact(3)))
	ship    = activity.Declare[int, string]("ship")
	notify  = activity.Declare[string, string]("notify")
	undo    = activity.Declare[int, string]("undo")

	delivery = workflow.Declare[int, string]("delivery")

	approval = workflow.NewSignal[string]("approval")
)

// exact is a policy of n attempts whose waits are 1s, 2s, 4s ...
func exact(n int) retry.Policy {
	return retry.Policy{MaxAttempts: n, Backoff: retry.Exponential(time.Second, 2, time.Minute), Jitter: retry.NoJitter}
}

func with(p retry.Policy, set func(*retry.Policy)) activity.Option {
	set(&p)
	return activity.Retry(p)
}

// programs are the workflows of the scripts, by name.
var programs = map[string]workflow.Func[int, string]{
	"sequence": func(wf *workflow.Context, order int) (string, error) {
		a, err := workflow.Call(wf, reserve, order)
		if err != nil {
			return "", err
		}
		b, err := workflow.Call(wf, ship, order)
		return a + "," + b, err
	},
	"parallel": func(wf *workflow.Context, order int) (string, error) {
		a := workflow.Async(wf, reserve, order)
		b := workflow.Async(wf, ship, order)
		c := workflow.Async(wf, notify, "soon")
		x, err1 := a.Get(wf)
		y, err2 := b.Get(wf)
		z, err3 := c.Get(wf)
		return x + "," + y + "," + z, errors.Join(err1, err2, err3)
	},
	// race waits for a call or a minute, whichever is first; the call is the first
	// argument.
	"race": func(wf *workflow.Context, order int) (string, error) {
		call, timer := workflow.Async(wf, ship, order), workflow.NewTimer(wf, time.Minute)
		if workflow.Select(wf, call, timer) == 0 {
			s, err := call.Get(wf)
			return "call " + s, err
		}
		return "timer", nil
	},
	"race-timer-first": func(wf *workflow.Context, order int) (string, error) {
		call, timer := workflow.Async(wf, ship, order), workflow.NewTimer(wf, time.Minute)
		return []string{"timer", "call"}[workflow.Select(wf, timer, call)], nil
	},
	// late-race begins to wait when both have ended already.
	"late-race": func(wf *workflow.Context, order int) (string, error) {
		a, b := workflow.Async(wf, ship, order), workflow.Async(wf, reserve, order)
		if _, err := workflow.Receive(wf, approval); err != nil {
			return "", err
		}
		return []string{"ship", "reserve"}[workflow.Select(wf, a, b)], nil
	},
	// charge-paused waits for a person when two attempts have failed.
	"charge-paused": func(wf *workflow.Context, order int) (string, error) {
		return workflow.Call(wf, charge, order, with(exact(2), func(p *retry.Policy) { p.OnExhausted = retry.Pause }))
	},
	"charge": func(wf *workflow.Context, order int) (string, error) {
		s, err := workflow.Call(wf, charge, order)
		return s, err
	},
	"charge-shielded": func(wf *workflow.Context, order int) (string, error) {
		return workflow.Call(workflow.Shield(wf), charge, order)
	},
	"charge-default": func(wf *workflow.Context, order int) (string, error) {
		return workflow.Call(wf, ship, order)
	},
	"charge-rules": policyProgram(func(p *retry.Policy) {
		p.NonRetryable = []string{"CardDeclined"}
		p.Rules = []retry.Rule{{Types: []string{"RateLimit"}, MaxAttempts: 5, Backoff: retry.Fixed(10 * time.Second)}}
	}),
	"charge-within":  policyProgram(func(p *retry.Policy) { p.MaxAttempts, p.Within = 10, 5*time.Second }),
	"charge-timeout": policyProgram(func(p *retry.Policy) { p.AttemptTimeout, p.OnTimeout = time.Second, retry.StopOnTimeout }),
	"charge-beating": policyProgram(func(p *retry.Policy) { p.HeartbeatTimeout = 5 * time.Second }),
	"charge-queue":   policyProgram(func(p *retry.Policy) { p.QueueTimeout = 3 * time.Second }),
	"charge-at-once": policyProgram(func(p *retry.Policy) { p.Backoff = retry.None }),
	"charge-once-lost": policyProgram(func(p *retry.Policy) {
		p.CrashLimit = 1
	}),
	"charge-forever": policyProgram(func(p *retry.Policy) {
		p.MaxAttempts, p.Within, p.Backoff = retry.Unlimited, retry.Forever, retry.Fixed(time.Second)
	}),
	// poller reads approvals in pairs, each in another way, and continues as new.
	"poller": func(wf *workflow.Context, round int) (string, error) {
		unread := workflow.ReceiveAsync(wf, approval)
		if _, err := workflow.Call(wf, reserve, round); err != nil {
			return "", err
		}
		if round == 3 {
			return unread.Get(wf)
		}
		return workflow.ContinueAsNew(wf, workflow.Declare[int, string]("test"), round+1)
	},
	// labels changes its attributes around a call, and goes on once.
	"labels": func(wf *workflow.Context, round int) (string, error) {
		if err := workflow.SetAttribute(wf, "round", fmt.Sprint(round)); err != nil {
			return "", err
		}
		if _, err := workflow.Call(wf, reserve, round); err != nil {
			return "", err
		}
		if err := errors.Join(workflow.SetAttribute(wf, "round", fmt.Sprint(round)), workflow.SetAttribute(wf, "reserved", "yes")); err != nil {
			return "", err
		}
		if round == 2 {
			workflow.RemoveAttribute(wf, "round")
			return "done", nil
		}
		return workflow.ContinueAsNew(wf, workflow.Declare[int, string]("test"), round+1)
	},
	// family waits for a child in each way: one to be canceled, one that loses a race,
	// one after the other.
	"family": func(wf *workflow.Context, order int) (string, error) {
		scope, cancel := workflow.WithCancel(wf)
		first := workflow.RunChildAsync(scope, delivery, order, workflow.ChildID("first"))
		second := workflow.RunChildAsync(wf, delivery, order+1, workflow.OnParentClose(workflow.ParentCloseTerminate), workflow.Delay(time.Hour))
		workflow.StartDetachedAsync(wf, delivery, order+2, workflow.RetryPolicy(exact(2)))
		if _, err := workflow.Receive(wf, approval); err != nil {
			return "", err
		}
		cancel()
		a, err := first.Get(wf)
		workflow.Select(wf, second, workflow.NewTimer(wf, time.Minute))
		workflow.RunChildAsync(wf, delivery, order+3)
		workflow.RunChildAsync(wf, delivery, order+4, workflow.OnParentClose(workflow.ParentCloseAbandon))
		if _, err := workflow.RunChild(wf, delivery, order+5); err != nil {
			return "", fmt.Errorf("%v %t, then: %w", err, errors.Is(err, errDeclined), err)
		}
		return fmt.Sprint(a, err), nil
	},
	// account lives by its updates. It closes when one says 0.
	"account": func(wf *workflow.Context, balance int) (string, error) {
		over := workflow.NewChannel[bool](wf, 1)
		workflow.HandleUpdate(wf, workflow.NewUpdate[int, int]("add"), func(wf *workflow.Context, n int) (int, error) {
			if n == 0 {
				return balance, over.Send(wf, true)
			}
			if n > 100 {
				if _, err := workflow.Call(wf, reserve, n); err != nil {
					return 0, err
				}
			}
			balance += n
			return balance, nil
		}, workflow.Validator(func(n int) error {
			if n < 0 {
				return fmt.Errorf("%d cannot be added to %d", n, balance)
			}
			return nil
		}))
		if _, err := over.Receive(wf); err != nil {
			return "", err
		}
		if balance > 1000 {
			return workflow.ContinueAsNew(wf, workflow.Declare[int, string]("test"), 0)
		}
		return fmt.Sprint(balance), workflow.FinishUpdates(wf)
	},
	// forgets is account with another name for its update.
	"forgets": func(wf *workflow.Context, _ int) (string, error) {
		workflow.HandleUpdate(wf, workflow.NewUpdate[int, int]("put"), func(*workflow.Context, int) (int, error) { return 0, nil })
		_, err := workflow.NewChannel[string](wf, 0).Receive(wf)
		return "", err
	},
	// fragile fails with its only call.
	"fragile": func(wf *workflow.Context, order int) (string, error) {
		return workflow.Call(wf, ship, order, activity.Retry(retry.Never))
	},
	"bystander": func(wf *workflow.Context, order int) (string, error) {
		poison := workflow.Async(wf, charge, order)
		good := workflow.Async(wf, ship, order)
		s, err := good.Get(wf)
		if err != nil {
			return "", err
		}
		_, err = poison.Get(wf)
		return s, err
	},
	// cancel gives a charge up when it is told to, and says how that went.
	"cancel": func(wf *workflow.Context, order int) (string, error) {
		scope, cancel := workflow.WithCancel(wf)
		f := workflow.Async(scope, charge, order)
		if _, err := workflow.Receive(wf, approval); err != nil {
			return "", err
		}
		cancel()
		s, err := f.Get(wf)
		if err != nil {
			return "lost: " + err.Error() + deepText(err), nil
		}
		return "kept: " + s, nil
	},
	// clean-up undoes in a shield what it did before it was canceled.
	"clean-up": func(wf *workflow.Context, order int) (string, error) {
		if _, err := workflow.Call(wf, reserve, order); err != nil {
			return "", err
		}
		_, err := workflow.Call(wf, ship, order)
		if err != nil {
			_, undoErr := workflow.Call(workflow.Shield(wf), undo, order)
			return "", errors.Join(err, undoErr)
		}
		return "shipped", nil
	},
	"signals": func(wf *workflow.Context, order int) (string, error) {
		var all string
		for range 3 {
			s, err := workflow.Receive(wf, approval)
			if err != nil {
				return "", err
			}
			all += s
		}
		return all, nil
	},
	// two-signals races two waits for the same signal against a timer.
	"signal-race": func(wf *workflow.Context, order int) (string, error) {
		timer := workflow.NewTimer(wf, time.Minute)
		signal := workflow.ReceiveAsync(wf, approval)
		first := workflow.Select(wf, timer, signal)
		s, err := workflow.Receive(wf, approval)
		return fmt.Sprintf("%d, then %s", first, s), err
	},
	"side-effects": func(wf *workflow.Context, order int) (string, error) {
		n := workflow.SideEffect(wf, "draw", func() int { return order * 10 })
		s, err := workflow.Call(wf, ship, n)
		return fmt.Sprint(n, s), err
	},
	"step": func(wf *workflow.Context, order int) (string, error) {
		return workflow.Do(wf, "format", func(context.Context) (string, error) { return fmt.Sprint(order), nil }, activity.Retry(exact(2)))
	},
	"block":         blockProgram(0),
	"block-timeout": blockProgram(10 * time.Second),
	"block-once": func(wf *workflow.Context, order int) (string, error) {
		return workflow.Retry(wf, retry.Policy{MaxAttempts: 1, AttemptTimeout: time.Second}, func(wf *workflow.Context) (string, error) {
			return workflow.Call(wf, ship, order, activity.Retry(retry.Never))
		})
	},
	"timeout": func(wf *workflow.Context, order int) (string, error) {
		return workflow.Timeout(wf, time.Second, func(wf *workflow.Context) (string, error) {
			return workflow.Call(wf, charge, order)
		})
	},
	// deadlock waits for a channel that no coroutine sends to.
	"deadlock": func(wf *workflow.Context, order int) (string, error) {
		s, err := workflow.Call(wf, ship, order)
		if err == nil {
			_, err = workflow.NewChannel[int](wf, 0).Receive(wf)
		}
		return s, err
	},
	"panic": func(wf *workflow.Context, order int) (string, error) {
		s, err := workflow.Call(wf, ship, order)
		if s == "bad" {
			panic("unexpected answer")
		}
		return s, err
	},
}

// deepText adds what an aborted call had failed with before.
func deepText(err error) string {
	var aborted *retry.AbortedError
	if errors.As(err, &aborted) && aborted.Last != nil {
		return "; before that: " + aborted.Last.Error()
	}
	return ""
}

// policyProgram makes one call with three exact attempts, changed.
func policyProgram(set func(*retry.Policy)) workflow.Func[int, string] {
	return func(wf *workflow.Context, order int) (string, error) {
		return workflow.Call(wf, charge, order, with(exact(3), set))
	}
}

// blockProgram retries a block with a single call, as in the example that E43
// quotes: three tries, 100 ms and 200 ms between them.
func blockProgram(timeout time.Duration) workflow.Func[int, string] {
	return func(wf *workflow.Context, order int) (string, error) {
		policy := retry.Policy{
			MaxAttempts: 3, Backoff: retry.Exponential(100*time.Millisecond, 2, 30*time.Second), Jitter: retry.NoJitter,
			AttemptTimeout: timeout,
		}
		return workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) {
			return workflow.Call(wf, ship, order, activity.Retry(retry.Never))
		})
	}
}

// programOf returns the code with the name, nil for "none".
func programOf(t testing.TB, name string) maker {
	if name == "none" {
		return nil
	}
	f, ok := programs[name]
	if !ok {
		t.Fatalf("there is no program %q", name)
	}
	return codeOf(f)
}

func codeOf[In, Out any](f workflow.Func[In, Out]) maker {
	w := workflow.New("test", f)
	return func(run *core.Run) seal.Instance { return seal.Of(w).Begin(run) }
}
