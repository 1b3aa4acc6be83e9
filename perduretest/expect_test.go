package perduretest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// witness stands in for the test of an environment and keeps what it is told.
type witness struct {
	testing.TB
	said []string
}

func (w *witness) Helper()                   {}
func (w *witness) Error(args ...any)         { w.said = append(w.said, fmt.Sprint(args...)) }
func (w *witness) Errorf(f string, a ...any) { w.said = append(w.said, fmt.Sprintf(f, a...)) }
func (w *witness) Fatal(args ...any)         { w.Error(args...); runtime.Goexit() }
func (w *witness) Fatalf(f string, a ...any) { w.Errorf(f, a...); runtime.Goexit() }

// complaints are what f lets an environment say to its test.
func complaints(env *Env, f func()) string {
	real := env.t
	w := &witness{TB: real}
	env.t = w
	over := make(chan struct{})
	go func() { // which Fatal ends
		defer close(over)
		f()
	}()
	<-over
	env.t = real
	return strings.Join(w.said, "\n")
}

var (
	paint = activity.New("paint", func(_ context.Context, color string) (string, error) { return color + "!", nil },
		activity.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Exponential(time.Minute, 2, time.Hour), Jitter: retry.NoJitter}))
	frame = activity.New("frame", func(_ context.Context, in string) (string, error) { return in, nil })

	dry = workflow.NewSignal[string]("dry")

	// decorate paints, frames, measures and waits until it is dry.
	decorate = workflow.New("decorate", func(wf *workflow.Context, color string) (string, error) {
		painted, err := workflow.Call(wf, paint, color)
		if err != nil {
			return "", err
		}
		if _, err := workflow.Call(wf, frame, painted); err != nil {
			return "", err
		}
		if _, err := workflow.Do(wf, "measure", func(context.Context) (int, error) { return 3, nil }); err != nil {
			return "", err
		}
		when, err := workflow.Receive(wf, dry)
		return painted + when, err
	})
)

// decorated is a run that has painted at the third try and waits for its signal.
func decorated(t *testing.T, f func(env *Env)) {
	Test(t, func(t *testing.T, env *Env) {
		env.Register(decorate, paint, frame)
		env.Inject(paint, Fail(errors.New("no brush")), Attempts(1, 2))
		if _, err := Start(env, decorate, "d", "red"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		f(env)
	})
}

func TestExpectationsHold(t *testing.T) {
	decorated(t, func(env *Env) {
		env.ExpectCalls("d", paint, frame, Step("measure"))
		env.ExpectAttempts("d", paint, "failed", "failed", "completed")
		env.ExpectAttempts("d", frame, "completed")
		env.ExpectDelays("d", paint, time.Minute, 2*time.Minute)
		env.ExpectReasons("d", paint, "backoff", "backoff", "succeeded")
		env.ExpectHistory("d", "testdata/decorate.txt")
		if err := dry.Send(env.t.Context(), env.Workflow("d"), "now"); err != nil {
			env.t.Fatal(err)
		}
		time.Sleep(time.Second)
		env.ExpectNothingPending("d")
	})
}

func TestExpectationsSayWhatIsOnRecord(t *testing.T) {
	decorated(t, func(env *Env) {
		const table = `On record: the run is running.
  call  name   attempt  started  outcome    reason     delay  error
  1     paint  1        +0s      failed     backoff    1m0s   no brush
  1     paint  2        +1m0s    failed     backoff    2m0s   no brush
  1     paint  3        +3m0s    completed  succeeded         `
		for _, c := range []struct {
			expect func()
			want   []string
		}{
			{func() { env.ExpectCalls("d", frame, paint) }, []string{"the calls of \"d\":\n  got  paint | frame | measure\n  want frame | paint", "the run is running", "measure"}},
			{func() { env.ExpectAttempts("d", paint, "completed") }, []string{"the outcomes of the attempts of \"paint\" in \"d\":\n  got  failed | failed | completed\n  want completed", strings.TrimSpace(table)}},
			{func() { env.ExpectDelays("d", paint) }, []string{"got  1m0s | 2m0s\n  want none"}},
			{func() { env.ExpectReasons("d", frame, "backoff") }, []string{"got  succeeded\n  want backoff"}},
			{func() { env.ExpectAttempts("d", Step("saw"), "completed") }, []string{"got  none\n  want completed"}},
			{func() { env.ExpectNothingPending("d") }, []string{`the pending calls of "d"`, `got  signal "dry", waiting`}},
			{func() { env.ExpectHistory("d", "testdata/nothing.txt") }, []string{"nothing.txt", "To write it: go test", "-perduretest.update", "0 +0s RunStarted \"decorate\""}},
			{func() { env.ExpectHistory("d", "testdata/decorate-other.txt") }, []string{`differs from testdata/decorate-other.txt in line 3`, "  want 2 +3m0s CallFailed", "  got  2 +3m0s AttemptStarted"}},
		} {
			said := complaints(env, c.expect)
			for _, want := range c.want {
				if !strings.Contains(said, want) {
					t.Errorf("the failure does not say\n%s\nbut\n%s", want, said)
				}
			}
		}
	})
}

func TestGoldenHistoriesAreRewritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "decorate.txt")
	decorated(t, func(env *Env) {
		if err := flag.Set("perduretest.update", "true"); err != nil {
			t.Fatal(err)
		}
		env.ExpectHistory("d", file)
		if err := flag.Set("perduretest.update", "false"); err != nil {
			t.Fatal(err)
		}
		env.ExpectHistory("d", file)
	})
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/decorate.txt")
	if err != nil || string(got) != string(want) {
		t.Errorf("%v; the file is now\n%s", err, got)
	}
}
