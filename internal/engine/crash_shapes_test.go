package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// shape is a kind of workflow that must survive everything.
type shape struct {
	name string

	// anyOrder says that which of its calls comes first depends on when others
	// end.
	anyOrder bool

	// gated says that it has gates, which hear of its end later than its caller.
	gated bool

	// outlived says that it starts runs that may end after it.
	outlived bool

	// redeployed says that its engines are replaced while it runs, so that nobody knows
	// which of them to ask for its health.
	redeployed bool

	// child is the code of the runs that it starts, nil if it starts none.
	child func(b *book) workflow.Func[string, string]
	// asked says that its answers may be asked for twice, and one be left for a while.
	asked bool

	// pinned says that it stays on a build.
	pinned bool

	// policy is by which its runs are retried, nil for not.
	policy *retry.Policy

	// start is what else it is started with.
	start []perdure.StartOption

	// slots is how many attempts may run at once; 0 for as many as usual.
	slots int

	// pending is how many calls may be open; 0 for as many as usual.
	pending int

	// flow and bodies are made for each run of the test.
	flow   func(b *book) workflow.Func[string, string]
	bodies func(b *book) map[string]activity.Func[string, string]

	// meddle is what the test does while the workflow runs; nil for nothing.
	meddle func(t *testing.T, env *perduretest.Env)

	// outside is what somebody does meanwhile who knows the tokens of attempts.
	outside func(t *testing.T, env *perduretest.Env, b *book)
}

// The workflow's own ID and name, and the activities that shapes call.
// theID looks like what engines, databases and terminals give a meaning to: each crash strikes it.
const theID = "#1/id/';--\x1b[31m%_\u202e\\\""

var (
	theFlow = workflow.Declare[string, string]("flow")

	exactly = func(d time.Duration, attempts int) activity.Option {
		return activity.Retry(retry.Policy{MaxAttempts: attempts, Backoff: retry.Fixed(d), Jitter: retry.NoJitter})
	}
	once = activity.Retry(retry.Never)

	work    = activity.Declare[string, string]("work", exactly(10*time.Second, 5))
	more    = activity.Declare[string, string]("more", exactly(10*time.Second, 5))
	cleanup = activity.Declare[string, string]("cleanup", exactly(10*time.Second, 5))

	poke = workflow.NewSignal[string]("poke")

	errRefused = errors.New("refused")
)

func init() { retry.RegisterError("crash_test.refused", errRefused) }

// after is a body that takes its time and returns its input with a mark.
func after(d time.Duration) activity.Func[string, string] {
	return func(ctx context.Context, in string) (string, error) {
		select {
		case <-time.After(d):
			return in + "'", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// untilCanceled is a body that waits for its context.
func untilCanceled(ctx context.Context, in string) (string, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}

type bodies = map[string]activity.Func[string, string]

var shapes = []shape{
	stepTransactions,
	childrenAwaited, childRetried, childrenLeft, childCanceled, childIDInUse, childIDAgain,
	continueAsNew, continueAtOnce, lateForTheNext, retryOfARun, retryUsedUp, cancelBetweenRuns,
	timeoutOfARun, timeoutOfAChain, updated, relabeled, deadlineWhileAway, blockByHand,
	{
		name: "refused-call", pending: 1,
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				first := workflow.Async(wf, work, in)
				_, err := workflow.Call(wf, more, "one too many")
				var limit *view.LimitError
				if !errors.As(err, &limit) {
					return "", fmt.Errorf("it was not refused: %w", err)
				}
				return first.Get(wf)
			}
		},
		bodies: func(*book) bodies { return bodies{"work": after(time.Minute), "more": after(time.Second)} },
	},
	{
		name: "sequence",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				for _, a := range []activity.Activity[string, string]{work, more, cleanup} {
					var err error
					if in, err = workflow.Call(wf, a, in); err != nil {
						return "", err
					}
				}
				return in, nil
			}
		},
		bodies: func(*book) bodies {
			return bodies{"work": after(time.Second), "more": after(0), "cleanup": after(time.Minute)}
		},
	},
	{
		name:     "map",
		anyOrder: true,
		flow:     twoCallsEach,
		bodies:   someFaster,
	},
	{
		name:     "queue",
		anyOrder: true,
		slots:    1,
		flow:     twoCallsEach,
		bodies:   someFaster,
	},
	{
		name:     "more-calls-than-slots", // which share rows
		anyOrder: true,
		slots:    3,
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				var futures []workflow.Future[string]
				for i := range 9 {
					futures = append(futures, workflow.Async(wf, work, fmt.Sprint(in, i)))
				}
				var all []string
				for _, f := range futures {
					out, err := f.Get(wf)
					if err != nil {
						return "", err
					}
					all = append(all, out)
				}
				return strings.Join(all, ","), nil
			}
		},
		bodies: func(b *book) bodies {
			return bodies{"work": func(ctx context.Context, in string) (string, error) {
				if b.failures(ctx) < 1 && strings.HasSuffix(in, "4") {
					return "", errRefused
				}
				return after(time.Duration(1+len(in)%2)*time.Second)(ctx, in)
			}}
		},
	},
	{
		name: "select-won-by-the-activity",
		flow: race(time.Hour),
		bodies: func(*book) bodies {
			return bodies{"work": after(time.Second), "more": after(time.Second)}
		},
	},
	{
		name: "select-won-by-the-timer",
		flow: race(10 * time.Second),
		bodies: func(*book) bodies {
			return bodies{"work": untilCanceled, "more": after(time.Second)}
		},
	},
	{
		name: "retry-in-the-engine",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				out, err := workflow.Call(wf, work, in)
				if err != nil {
					return "", err
				}
				_, err = workflow.Call(wf, more, out, exactly(20*time.Minute, 3))
				var exhausted *retry.ExhaustedError
				if !errors.As(err, &exhausted) {
					return "", fmt.Errorf("more ended with %w", err)
				}
				return fmt.Sprintf("%s, then %d failures: %s, %v", out, exhausted.Attempts, exhausted.Reason, errors.Is(err, errRefused)), nil
			}
		},
		bodies: func(b *book) bodies {
			return bodies{
				"work": func(ctx context.Context, in string) (string, error) {
					if b.failures(ctx) < 3 {
						return "", errRefused
					}
					return in + "'", nil
				},
				"more": func(context.Context, string) (string, error) { return "", errRefused },
			}
		},
	},
	{
		name: "retry-of-a-block",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				try := 0
				policy := retry.Policy{MaxAttempts: 4, Backoff: retry.Exponential(time.Second, 2, time.Minute), Jitter: retry.NoJitter}
				return workflow.Retry(wf, policy, func(wf *workflow.Context) (string, error) {
					try++
					out, err := workflow.Call(wf, work, fmt.Sprintf("%s%d", in, try), once)
					if err != nil {
						return "", err
					}
					return workflow.Call(wf, more, out, once)
				})
			}
		},
		bodies: func(*book) bodies {
			return bodies{
				"work": after(time.Second),
				"more": func(ctx context.Context, in string) (string, error) {
					if !strings.Contains(in, "3") {
						return "", errRefused
					}
					return in + "'", nil
				},
			}
		},
	},
	{
		name: "timers",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				for _, d := range []time.Duration{time.Millisecond, 3 * time.Second, 10 * time.Minute, 36 * time.Hour} {
					began := workflow.Now(wf)
					if err := workflow.Sleep(wf, d); err != nil {
						return "", err
					}
					if slept := workflow.Now(wf).Sub(began); slept < d {
						return "", fmt.Errorf("a sleep of %s took %s", d, slept)
					}
				}
				return workflow.Call(wf, work, in)
			}
		},
		bodies: func(*book) bodies { return bodies{"work": after(time.Second)} },
	},
	{
		name: "side-effects",
		flow: func(b *book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				drawn := workflow.SideEffect(wf, "draw", func() string { return fmt.Sprintf("r%d", b.next()) })
				id := workflow.UUID(wf)
				out, err := workflow.Call(wf, work, drawn)
				if err != nil {
					return "", err
				}
				if out != drawn+"'" {
					return "", fmt.Errorf("drawn was %s and then %s", drawn, out)
				}
				again := workflow.SideEffect(wf, "again", func() string { return fmt.Sprintf("r%d", b.next()) })
				if again == drawn {
					return "", fmt.Errorf("%s was drawn twice", drawn)
				}
				if err := workflow.Sleep(wf, time.Minute); err != nil {
					return "", err
				}
				return fmt.Sprint(in, " ", drawn, " ", again, " ", id == workflow.UUID(wf)), nil
			}
		},
		bodies: func(*book) bodies { return bodies{"work": after(time.Second)} },
	},
	{
		name: "inline-step",
		flow: func(b *book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				step := func(body activity.Func[string, string]) (string, error) {
					captured := in
					return workflow.Do(wf, "step-"+captured, func(ctx context.Context) (string, error) {
						return kept(b, body)(ctx, captured)
					}, exactly(10*time.Second, 5))
				}
				var err error
				if in, err = step(after(time.Second)); err != nil {
					return "", err
				}
				return step(func(ctx context.Context, in string) (string, error) {
					if b.failures(ctx) < 2 {
						return "", errRefused
					}
					return in + "'", nil
				})
			}
		},
	},
	{
		name: "signals",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				out, err := workflow.Call(wf, work, in)
				for range 3 {
					if err != nil {
						return "", err
					}
					var v string
					v, err = workflow.Receive(wf, poke)
					out += v
				}
				return out, err
			}
		},
		bodies: func(*book) bodies { return bodies{"work": after(time.Minute)} },
		meddle: func(t *testing.T, env *perduretest.Env) {
			for _, v := range []string{"1", "2", "3"} { // the first before anybody waits
				if err := poke.SendOnce(t.Context(), env.Workflow(theID), "the "+v, v); err != nil {
					t.Error(err)
				}
				// A second one of its ID, which is none.
				if err := poke.SendOnce(t.Context(), env.Workflow(theID), "the "+v, "again"); err != nil && !errors.Is(err, perdure.ErrClosed) {
					t.Error(err)
				}
				time.Sleep(50 * time.Second)
			}
		},
	},
	{
		name: "cancel-in-backoff",
		flow: cancelable,
		bodies: func(*book) bodies {
			return bodies{
				"work":    func(context.Context, string) (string, error) { return "", errRefused },
				"cleanup": after(time.Second),
			}
		},
		meddle: cancelOnce("backoff"),
	},
	{
		name: "cancel-while-it-runs",
		flow: cancelable,
		bodies: func(*book) bodies {
			return bodies{"work": untilCanceled, "cleanup": after(time.Second)}
		},
		meddle: cancelOnce("running"),
	},
	{
		name: "terminated",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, work, in) }
		},
		bodies: func(*book) bodies { return bodies{"work": untilCanceled} },
		meddle: func(t *testing.T, env *perduretest.Env) {
			time.Sleep(time.Minute)
			if err := env.Workflow(theID).Terminate("enough"); err != nil {
				t.Error(err)
			}
		},
	},
	{
		name: "panic",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				out, err := workflow.Call(wf, work, in)
				if err != nil {
					return "", err
				}
				_, err = workflow.Call(wf, more, out, once)
				var panicked *retry.PanicError
				return fmt.Sprint(out, " ", errors.As(err, &panicked)), nil
			}
		},
		bodies: func(b *book) bodies {
			return bodies{
				"work": func(ctx context.Context, in string) (string, error) {
					if b.failures(ctx) < 2 {
						panic("not yet")
					}
					return in + "'", nil
				},
				"more": func(context.Context, string) (string, error) { panic("never") },
			}
		},
	},
	{
		name: "timeout-scope",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				_, err := workflow.Timeout(wf, 30*time.Second, func(wf *workflow.Context) (string, error) {
					return workflow.Call(wf, work, in)
				})
				var late *retry.TimeoutError
				if !errors.As(err, &late) {
					return "", fmt.Errorf("work ended with %w", err)
				}
				return workflow.Timeout(wf, time.Hour, func(wf *workflow.Context) (string, error) {
					return workflow.Call(wf, more, in)
				})
			}
		},
		bodies: func(*book) bodies {
			return bodies{"work": untilCanceled, "more": after(time.Second)}
		},
	},
	{
		name:   "saga",
		flow:   saga,
		bodies: refusing,
	},
	{
		name:     "coroutines-and-a-channel",
		anyOrder: true,
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				results := workflow.NewChannel[string](wf, 0)
				for i := range 3 {
					workflow.Go(wf, func(wf *workflow.Context) {
						out, err := workflow.Call(wf, work, fmt.Sprint(in, i))
						if err == nil {
							err = workflow.Sleep(wf, time.Duration(i+1)*time.Minute)
						}
						if err != nil {
							out = err.Error()
						}
						_ = results.Send(wf, out)
					})
				}
				var all []string
				for range 3 {
					v, err := results.Receive(wf)
					if err != nil {
						return "", err
					}
					all = append(all, v)
				}
				return strings.Join(all, ","), nil
			}
		},
		bodies: func(*book) bodies { return bodies{"work": after(time.Second)} },
	},
	{
		name: "failed-for-good",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				out, err := workflow.Call(wf, work, in)
				if err != nil {
					return "", err
				}
				return workflow.Call(wf, more, out)
			}
		},
		bodies: func(*book) bodies {
			return bodies{
				"work": after(time.Second),
				"more": func(context.Context, string) (string, error) { return "", retry.Terminal(errRefused) },
			}
		},
	},
	{
		name: "attempt-timeout",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				return workflow.Call(wf, work, in, activity.Retry(retry.Policy{
					MaxAttempts: 5, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter, AttemptTimeout: 10 * time.Second,
				}))
			}
		},
		bodies: func(b *book) bodies {
			return bodies{"work": func(ctx context.Context, in string) (string, error) {
				if b.failures(ctx) < 1 {
					return untilCanceled(ctx, in)
				}
				return in + "'", nil
			}}
		},
	},
	{
		name: "heartbeats",
		flow: func(*book) workflow.Func[string, string] {
			return func(wf *workflow.Context, in string) (string, error) {
				out, err := workflow.Call(wf, work, in, alive)
				if err != nil {
					return "", err
				}
				return workflow.Call(wf, more, out, alive)
			}
		},
		bodies: func(b *book) bodies {
			return bodies{"work": stumbles(b), "more": fallsSilent(b)}
		},
	},
}

// alive is the policy of calls that have heartbeats.
var alive = activity.Retry(retry.Policy{MaxAttempts: 5, Backoff: retry.Fixed(time.Second), Jitter: retry.NoJitter, HeartbeatTimeout: 3 * time.Second})

// toldAtLeast returns what an earlier attempt said. An attempt after one that is
// on record as failed must find all of it.
func toldAtLeast(ctx context.Context, b *book, said int) (int, error) {
	done, _, err := activity.Details[int](ctx)
	if err == nil && b.failures(ctx) > 0 && done < said {
		err = retry.Terminal(fmt.Errorf("told is %d, said was %d", done, said))
	}
	return done, err
}

// stumbles is a body that says how far it has come and fails once.
func stumbles(b *book) activity.Func[string, string] {
	return func(ctx context.Context, in string) (string, error) {
		done, err := toldAtLeast(ctx, b, 4)
		for err == nil && done < 6 {
			time.Sleep(700 * time.Millisecond)
			done++
			err = activity.Heartbeat(ctx, done)
			if done == 4 && b.failures(ctx) < 1 {
				return "", errRefused
			}
		}
		return in + "'", err
	}
}

// fallsSilent is a body that says something, and then nothing for too long, once.
func fallsSilent(b *book) activity.Func[string, string] {
	return func(ctx context.Context, in string) (string, error) {
		if _, err := toldAtLeast(ctx, b, 7); err != nil {
			return "", err
		}
		if err := activity.Heartbeat(ctx, 7); err != nil {
			return "", err
		}
		if b.failures(ctx) < 1 {
			return untilCanceled(ctx, in)
		}
		return in + "'", nil
	}
}

// twoCallsEach is a parallel map of which each item takes two calls.
func twoCallsEach(*book) workflow.Func[string, string] {
	return func(wf *workflow.Context, in string) (string, error) {
		out, err := workflow.Map(wf, []string{"a", "b", "c", "d"}, func(wf *workflow.Context, item string) (string, error) {
			first, err := workflow.Call(wf, work, item)
			if err != nil {
				return "", err
			}
			return workflow.Call(wf, more, first)
		})
		return in + ":" + strings.Join(out, ","), err
	}
}

// someFaster lets the first calls of a map end in different turns.
func someFaster(*book) bodies {
	return bodies{
		"work": func(ctx context.Context, in string) (string, error) {
			return after(time.Duration(in[0]-'a')*time.Second)(ctx, in)
		},
		"more": after(time.Second),
	}
}

// race is a select between an activity and a timer, and what follows from it.
func race(limit time.Duration) func(*book) workflow.Func[string, string] {
	return func(*book) workflow.Func[string, string] {
		return func(wf *workflow.Context, in string) (string, error) {
			out := workflow.Async(wf, work, in)
			winner := workflow.Select(wf, out, workflow.NewTimer(wf, limit))
			if winner == 0 {
				v, err := out.Get(wf)
				if err != nil {
					return "", err
				}
				in = v
			}
			return workflow.Call(wf, more, fmt.Sprint(in, winner))
		}
	}
}

// cancelable cleans up when it is canceled.
func cancelable(*book) workflow.Func[string, string] {
	return func(wf *workflow.Context, in string) (string, error) {
		_, err := workflow.Call(wf, work, in, exactly(time.Hour, 5))
		if wf.Err() == nil {
			return "", fmt.Errorf("nobody canceled, and work ended with %w", err)
		}
		if _, err := workflow.Call(workflow.Shield(wf), cleanup, in); err != nil {
			return "", err
		}
		return "", err
	}
}

// cancelOnce cancels the run when its call is in a state. It looks after a second has passed,
// when everything waits: at the moment when an attempt is on record, its body may not have begun,
// and canceled then it never does.
func cancelOnce(state string) func(*testing.T, *perduretest.Env) {
	return func(t *testing.T, env *perduretest.Env) {
		for range 1000 {
			time.Sleep(time.Second)
			d := env.Workflow(theID).Describe()
			if d.Status != "running" || len(d.Pending) == 1 && d.Pending[0].State == state {
				break
			}
		}
		if err := env.Workflow(theID).Cancel("enough"); err != nil {
			t.Error(err)
		}
	}
}

// saga undoes two steps because the third one fails, and one of them cannot be
// undone at first.
func saga(*book) workflow.Func[string, string] {
	return func(wf *workflow.Context, in string) (string, error) {
		_, err := workflow.Saga(wf, func(wf *workflow.Context, undo *workflow.Undo) (string, error) {
			for i := range 2 {
				_, err := workflow.CallWithUndo(wf, undo, work, fmt.Sprint(in, i), func(wf *workflow.Context, done string) error {
					_, err := workflow.Call(wf, cleanup, done)
					return err
				})
				if err != nil {
					return "", err
				}
			}
			return workflow.Call(wf, more, in, once)
		})
		var undone *workflow.CompensationError
		return fmt.Sprint(errors.Is(err, errRefused), errors.As(err, &undone)), nil
	}
}

// refusing never does the third step of saga, and undoes a step at its second
// attempt.
func refusing(b *book) bodies {
	return bodies{
		"work": after(time.Second),
		"more": func(context.Context, string) (string, error) { return "", errRefused },
		"cleanup": func(ctx context.Context, in string) (string, error) {
			if b.failures(ctx) == 0 {
				return "", errRefused
			}
			return after(time.Second)(ctx, in)
		},
	}
}
