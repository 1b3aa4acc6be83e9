package workload_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/bench/internal/workload"
)

// liar is a system that does everything in memory and right, but for its lie.
type liar struct{ lie lie }

// lie is what can be wrong with a system.
type lie string

const (
	honest        lie = ""
	wrongResult   lie = "wrong result"
	skippedBody   lie = "skipped body"
	repeatedBody  lie = "repeated body"
	wrongOrder    lie = "wrong order"
	lostRun       lie = "lost run"
	impatient     lie = "impatient"
	tooFewRetries lie = "too few retries"
	failing       lie = "failing"
)

func (liar) Name() string { return "liar" }

func (liar) Kind() place.Kind { return place.Memory }

func (liar) Resumes() bool { return false }

func (l liar) Open(_ context.Context, _ place.Database, c system.Config) (system.Session, error) {
	return &fake{Config: c, lie: l.lie}, nil
}

type fake struct {
	system.Config
	lie lie

	mu   sync.Mutex
	runs int
}

func (f *fake) ran(steps int) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs++
	switch {
	case f.lie == failing:
		return 0, errors.New("no")
	case f.lie == wrongResult && f.runs == 2:
		return steps - 1, nil
	}
	return steps, nil
}

// step calls a body, as the lie is.
func (f *fake) step(n, steps int) {
	switch {
	case n == steps-1 && f.lie == skippedBody:
	case n == steps-1 && f.lie == repeatedBody:
		f.Step(n)
		f.Step(n)
	case f.lie == wrongOrder:
		f.Step(steps - 1 - n)
	default:
		f.Step(n)
	}
}

func (f *fake) Chain(_ context.Context, _ string, steps int) (int, error) {
	for n := range steps {
		f.step(n, steps)
	}
	return f.ran(steps)
}

func (f *fake) Fan(ctx context.Context, id string, width int) (int, error) {
	return f.Chain(ctx, id, width)
}

func (f *fake) Flaky(_ context.Context, id string) (int, error) {
	for attempt := 1; ; attempt++ {
		err := f.Try(id, attempt)
		if err == nil || f.lie == tooFewRetries {
			return f.ran(system.Failures + 1)
		}
		if f.lie == impatient {
			time.Sleep(system.Backoff / 2)
		} else {
			time.Sleep(system.Backoff)
		}
	}
}

// Verify of a fake knows only whether it is to say that runs were lost.
func (f *fake) Verify(context.Context, system.Tally) error {
	if f.lie == lostRun {
		return errors.New("a run is lost")
	}
	return nil
}

func (f *fake) Commits() (int64, bool) { return 0, false }

func (f *fake) Close(context.Context) error { return nil }

// No system gets figures for work that it did not do, or did wrong.
func TestWorkloadsFindLies(t *testing.T) {
	places, err := place.New(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer places.Close()
	for _, c := range []struct {
		workload workload.Workload
		lies     map[lie]string
	}{
		{workload.Throughput{Steps: 3, InFlight: 2, Runs: 5}, map[lie]string{
			wrongResult: "answers 2 steps, want 3", skippedBody: "bodies ran", repeatedBody: "bodies ran", lostRun: "a run is lost", failing: "no",
		}},
		{workload.Latency{Steps: []int{1, 2}, Runs: 10}, map[lie]string{
			wrongResult: "want", skippedBody: "bodies ran", repeatedBody: "bodies ran", lostRun: "a run is lost", failing: "no",
		}},
		{workload.Backoff{Runs: []int{3}}, map[lie]string{
			wrongResult: "attempts, want", impatient: "before it was due", tooFewRetries: "retries, want", lostRun: "a run is lost", failing: "no",
		}},
		{workload.FanOut{Width: 5, InFlight: 2, Runs: 2}, map[lie]string{
			wrongResult: "answers 4", skippedBody: "ran 0 times", repeatedBody: "ran 4 times", lostRun: "a run is lost", failing: "no",
		}},
		{workload.Long{Steps: []int{6, 8}, Edge: 2}, map[lie]string{
			skippedBody: "bodies began in order", wrongOrder: "bodies began in order", lostRun: "a run is lost", failing: "no",
		}},
	} {
		name := c.workload.About().Name
		if _, err := c.workload.Run(t.Context(), places, liar{honest}); err != nil {
			t.Errorf("%s of an honest system: %v", name, err)
		}
		for lie, want := range c.lies {
			samples, err := c.workload.Run(t.Context(), places, liar{lie})
			if err == nil || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s with a %s gives %v and %v, want an error with %q", name, lie, samples, err, want)
			}
		}
	}
}
