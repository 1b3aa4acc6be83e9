package perduretest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestAMonthTakesMilliseconds: a workflow of thirty days, with an activity every
// day that fails twice and is retried hours later, and a crash in each of four
// weeks, replayed from its history for every turn. The bound is for machines that
// do much else; the log has the figure.
func TestAMonthTakesMilliseconds(t *testing.T) {
	measure := activity.Declare[int, int]("measure", activity.Retry(retry.Policy{Backoff: retry.Fixed(3 * time.Hour), Jitter: retry.NoJitter}))
	month := workflow.New("month", func(wf *workflow.Context, days int) (sum int, err error) {
		for day := range days {
			n, err := workflow.Call(wf, measure, day)
			if err != nil {
				return sum, err
			}
			sum += n
			if err := workflow.Sleep(wf, 18*time.Hour); err != nil {
				return sum, err
			}
		}
		return sum, nil
	})
	began := time.Now() // outside of the bubble
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(month)
		perduretest.Mock(env, measure, func(_ context.Context, day int) (int, error) { return day, nil })
		env.Inject(measure, perduretest.Fail(errors.New("no signal")), perduretest.Attempts(1, 2))
		for week := range time.Duration(4) {
			env.After((week*7+5)*24*time.Hour, env.Crash)
		}
		began := time.Now()
		sum, err := perduretest.Run(env, month, "m", 30)
		if passed := time.Since(began); sum != 435 || err != nil || passed < 30*24*time.Hour || passed > 31*24*time.Hour {
			t.Errorf("got %d, %v after %s; want 435 after 30 days", sum, err, passed)
		}
		if n := len(env.Workflow("m").Attempts()); n < 90 || env.Crashes() != 4 {
			t.Errorf("%d attempts and %d crashes, want at least 90 and 4", n, env.Crashes())
		}
	})
	took := time.Since(began)
	t.Logf("thirty days took %s", took)
	if took > 10*time.Second {
		t.Errorf("thirty days took %s", took)
	}
}
