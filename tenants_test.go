package perdure_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// work takes a second.
var work = activity.New("work", func(ctx context.Context, _ int) (int, error) {
	time.Sleep(time.Second)
	return 0, ctx.Err()
})

// TestT6_NobodyWaitsForSomebodyElse: while many calls or runs of A wait, a run of B ends within twice
// the second that it takes alone: at slots, at a gate, in a queue and in line.
func TestT6_NobodyWaitsForSomebodyElse(t *testing.T) {
	two := gate.New("two", 2)
	for name, c := range map[string]struct {
		call    []activity.Option
		options []perdure.Option
		runs    bool // A has many runs of one call, else runs of many calls
	}{
		"slots": {options: []perdure.Option{perdure.Concurrency(2)}},
		"gate":  {call: []activity.Option{activity.Through(two)}},
		"queue": {call: []activity.Option{activity.Queue("mill")}, options: []perdure.Option{perdure.ServeQueue("mill", 2)}},
		"line":  {options: []perdure.Option{perdure.Concurrency(2)}, runs: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				job := workflow.New("job", func(wf *workflow.Context, calls int) (int, error) {
					var all []workflow.Future[int]
					for i := range calls {
						all = append(all, workflow.Async(wf, work, i, c.call...))
					}
					for _, f := range all {
						if _, err := f.Get(wf); err != nil {
							return 0, err
						}
					}
					return calls, nil
				})
				eng, err := perdure.Open(ctx, memory.New(), append(c.options, perdure.Register(job, work))...)
				ok(t, err)
				ok(t, eng.Start(ctx))
				defer eng.Close()

				n, calls := extent.AtNight(20, 200), 500
				if c.runs {
					n, calls = extent.AtNight(3000, 100_000), 1
				}
				for i := range n {
					_, err := perdure.Start(ctx, eng, job, fmt.Sprint("a", i), calls, workflow.Key("a"))
					ok(t, err)
				}
				time.Sleep(1500 * time.Millisecond)
				start := time.Now()
				_, err = perdure.Run(ctx, eng, job, "b", 1, workflow.Key("b"))
				ok(t, err)
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("b took %s while a waits; alone it takes a second", took)
				}
			})
		})
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
