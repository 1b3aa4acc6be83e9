package witness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// Effect is what one activity is to do.
type Effect struct {
	Step  string
	Order int
	Value int
	Tag   string
	Fails int
}

var errFlaky = errors.New("the book says: fail")

// ink is the pen of this process. Inline steps have no other way to it.
var ink *Pen

// line is what a body says of itself.
func line(ctx context.Context, e Effect) Entry {
	info, _ := activity.FromContext(ctx)
	return Entry{
		Phase: Begin, Key: activity.IdempotencyKey(ctx), Attempt: info.AttemptID, Number: info.Attempt,
		Workflow: info.WorkflowID, Step: e.Step, Order: e.Order, Tag: e.Tag, Fails: e.Fails,
	}
}

// perform is the body of most activities: it tells the book, works a little,
// tells the book again. It does not care whether anybody still wants it.
func perform(ctx context.Context, e Effect) (int, error) {
	l := line(ctx, e)
	fail := ink.must(l).Fail
	time.Sleep(rand.N(4 * time.Millisecond)) // so that deaths meet bodies
	if fail {
		l.Phase = Failed
		ink.must(l)
		return 0, errFlaky
	}
	l.Phase = Done
	ink.must(l)
	return Grow(e.Value), nil
}

// Grow is what an effect makes of a value.
func Grow(v int) int { return v%1_000_003*7 + 3 }

// bystander is the crash limit of those who are killed from outside, so often that
// on a slow machine it may well be three times while they are on probation. Only
// poison is to be held for what it did.
const bystander = 20

// met is how many bodies of meet run again; all is closed when these are all.
var (
	met atomic.Int64
	all = make(chan struct{})
)

var (
	act = activity.New("act", perform, activity.Retry(retry.Policy{
		MaxAttempts: 3, Backoff: retry.Exponential(5*time.Millisecond, 4, time.Second), CrashLimit: bystander,
	}))

	// linger ends only when its context does.
	linger = activity.New("linger", func(ctx context.Context, e Effect) (int, error) {
		ink.must(line(ctx, e))
		<-ctx.Done()
		return 0, ctx.Err()
	}, activity.Retry(retry.Policy{CrashLimit: bystander}))

	// meet waits until its process is lost, and when it runs again for as many others as its
	// value says: if they run one after the other, none ends. It has less time than an
	// attempt on probation keeps others waiting.
	meet = activity.New("meet", func(ctx context.Context, e Effect) (int, error) {
		ink.must(line(ctx, e))
		if info, _ := activity.FromContext(ctx); info.Attempt > 1 && met.Add(1) == int64(e.Value) {
			close(all)
		}
		select {
		case <-all:
			return e.Value, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}, activity.Retry(retry.Policy{AttemptTimeout: 20 * time.Second, CrashLimit: bystander}))

	// poison takes its process with it.
	poison = activity.New("poison", func(ctx context.Context, e Effect) (int, error) {
		ink.must(line(ctx, e))
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		time.Sleep(time.Hour)
		return 0, err
	})
)

// inRow makes a number of effects one after the other, each of what the one before has made of
// the value. The names of their steps are numbered.
func inRow(wf *workflow.Context, n int, of activity.Activity[Effect, int], e Effect) (int, error) {
	step := e.Step
	for i := range n {
		var err error
		e.Step, e.Order = fmt.Sprint(step, i), i
		if e.Value, err = workflow.Call(wf, of, e); err != nil {
			return 0, err
		}
	}
	return e.Value, nil
}

// The workflows. Each takes a number and computes from it in its own way; what
// it must come to is written beside it.
var (
	sequence = workflow.New("sequence", func(wf *workflow.Context, v int) (int, error) {
		return inRow(wf, 5, act, Effect{Step: "s", Value: v})
	})

	parallel = workflow.New("parallel", func(wf *workflow.Context, v int) (int, error) {
		sum := 0
		for round := range 2 {
			parts, err := workflow.Map(wf, []int{v, v + 1, v + 2, v + 3, v + 4}, func(wf *workflow.Context, part int) (int, error) {
				return workflow.Call(wf, act, Effect{Step: fmt.Sprint("p", part), Order: round, Value: part})
			})
			if err != nil {
				return 0, err
			}
			for _, p := range parts {
				sum += p
			}
		}
		return sum, nil
	})

	flaky = workflow.New("flaky", func(wf *workflow.Context, v int) (int, error) {
		return inRow(wf, 3, act, Effect{Step: "f", Value: v, Fails: 2})
	})

	timers = workflow.New("timers", func(wf *workflow.Context, v int) (int, error) {
		for i := range 3 {
			var err error
			if v, err = workflow.Call(wf, act, Effect{Step: fmt.Sprint("t", i), Order: i, Value: v}); err != nil {
				return 0, err
			}
			if err := workflow.Sleep(wf, time.Duration(20+v%150)*time.Millisecond); err != nil {
				return 0, err
			}
		}
		return v, nil
	})

	race = workflow.New("race", func(wf *workflow.Context, v int) (int, error) {
		slow := workflow.Async(wf, linger, Effect{Step: "slow"})
		if won := workflow.Select(wf, slow, workflow.NewTimer(wf, 30*time.Millisecond)); won != 1 {
			return 0, fmt.Errorf("the activity won")
		}
		return workflow.Call(wf, act, Effect{Step: "after", Order: 1, Value: v})
	})

	block = workflow.New("block", func(wf *workflow.Context, v int) (int, error) {
		policy := retry.Policy{MaxAttempts: 4, Backoff: retry.Fixed(10 * time.Millisecond)}
		return workflow.Retry(wf, policy, func(wf *workflow.Context) (int, error) {
			first, err := workflow.Call(wf, act, Effect{Step: "before", Value: v})
			if err != nil {
				return 0, err
			}
			return workflow.Call(wf, act, Effect{Step: "within", Value: first, Fails: 3}, activity.Retry(retry.Policy{MaxAttempts: 1, CrashLimit: bystander}))
		})
	})

	// remember draws numbers of which every attempt of every step must see the
	// same: the result is what the workflow itself believes they were.
	remember = workflow.New("remember", func(wf *workflow.Context, v int) (string, error) {
		tag := workflow.SideEffect(wf, "draw", func() string { return strconv.Itoa(rand.Int()) })
		tag += " " + workflow.UUID(wf) + " " + strconv.FormatInt(workflow.Now(wf).UnixNano(), 10)
		for i := range 3 {
			e := Effect{Step: fmt.Sprint("r", i), Order: i, Value: v, Tag: tag}
			if _, err := workflow.Do(wf, e.Step, func(ctx context.Context) (int, error) { return perform(ctx, e) }, activity.Retry(retry.Policy{CrashLimit: bystander})); err != nil {
				return "", err
			}
		}
		return tag, nil
	})

	numbered = workflow.NewSignal[int]("numbered")

	inbox = workflow.New("inbox", func(wf *workflow.Context, signals int) ([]int, error) {
		var seen []int
		for i := range signals {
			n, err := workflow.Receive(wf, numbered)
			if err != nil {
				return nil, err
			}
			seen = append(seen, n)
			if _, err := workflow.Call(wf, act, Effect{Step: fmt.Sprint("i", i), Order: i}); err != nil {
				return nil, err
			}
		}
		return seen, nil
	})

	// courier sends to the run whose ID begins with its own.
	courier = workflow.New("courier", func(wf *workflow.Context, v int) (int, error) {
		for i := range letters {
			if err := workflow.Send(wf, workflow.GetInfo(wf).WorkflowID+" to", numbered, i); err != nil {
				return 0, err
			}
			var err error
			if v, err = workflow.Call(wf, act, Effect{Step: fmt.Sprint("d", i), Order: i, Value: v}); err != nil {
				return 0, err
			}
		}
		return v, nil
	})

	pipeline = workflow.New("pipeline", func(wf *workflow.Context, v int) (int, error) {
		results := workflow.NewChannel[int](wf, 1)
		workflow.Go(wf, func(wf *workflow.Context) {
			defer results.Close(wf)
			for i := range 4 {
				n, err := workflow.Call(wf, act, Effect{Step: fmt.Sprint("c", i), Order: i, Value: v + i})
				if err != nil || results.Send(wf, n) != nil {
					return
				}
			}
		})
		sum := 0
		for {
			n, err := results.Receive(wf)
			if errors.Is(err, workflow.ErrChannelClosed) {
				return sum, nil
			}
			if err != nil {
				return 0, err
			}
			sum += n
		}
	})

	undo = workflow.New("undo", func(wf *workflow.Context, v int) (int, error) {
		_, err := workflow.Call(wf, act, Effect{Step: "make", Value: v})
		if err == nil {
			_, err = workflow.Receive(wf, numbered) // which nobody sends
		}
		if _, cleanup := workflow.Call(workflow.Shield(wf), act, Effect{Step: "undo", Order: 1, Value: v}); cleanup != nil {
			return 0, cleanup
		}
		return 0, err
	})

	// Meeting ends when its body has begun again together with those of all others.
	Meeting = workflow.New("meeting", func(wf *workflow.Context, v int) (int, error) {
		return workflow.Call(wf, meet, Effect{Step: "meet", Value: v})
	})

	// Doomed kills its process each time its second step runs.
	Doomed = workflow.New("doomed", func(wf *workflow.Context, v int) (int, error) {
		v, err := workflow.Call(wf, act, Effect{Step: "before", Value: v})
		if err != nil {
			return 0, err
		}
		return workflow.Call(wf, poison, Effect{Step: "poison", Order: 1, Value: v})
	})
)

// letters is how many signals a run gets in a job.
const letters = 5

// Definitions are what a worker process registers; its bodies write with this
// pen. Somebody has to serve the queue, too.
func Definitions(p *Pen) perdure.Option {
	ink = p
	return perdure.Register(act, linger, poison, post, Bank, narrow, meet, Meeting,
		sequence, parallel, flaky, timers, race, block, remember, inbox, courier, pipeline, undo, Doomed, far, queued, pay, paid)
}
