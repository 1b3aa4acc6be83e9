package perdure_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
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
				eng, err := perdure.Open(ctx, memory.New(), append(c.options, perdure.Register(job, work), perdure.Logger(slog.New(slog.DiscardHandler)))...)
				ok(t, err)
				ok(t, eng.Start(ctx))
				defer eng.Close()

				n, calls := extent.Volume(20, 200), 500
				if c.runs {
					n, calls = extent.Volume(3000, 100_000), 1
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

// TestT1_T5_WhoHasWhichKey: a run has the key of its start or schedule, a child that of its parent unless it
// names another, and the next run of a chain that of the run before. They are found by it.
func TestT1_T5_WhoHasWhichKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		var leaf workflow.Workflow[bool, int]
		leaf = workflow.New("leaf", func(wf *workflow.Context, again bool) (int, error) {
			if again {
				return workflow.ContinueAsNew(wf, leaf, false)
			}
			return 0, workflow.SetAttribute(wf, "was", "here")
		})
		parent := workflow.New("parent", func(wf *workflow.Context, _ int) (int, error) {
			if _, err := workflow.RunChild(wf, leaf, true, workflow.ChildID("heir")); err != nil {
				return 0, err
			}
			return workflow.RunChild(wf, leaf, false, workflow.ChildID("other"), workflow.Key("bob"))
		})
		eng, err := perdure.Open(ctx, memory.New(), perdure.Register(parent, leaf), perdure.Logger(slog.New(slog.DiscardHandler)))
		ok(t, err)
		ok(t, eng.Start(ctx))
		defer eng.Close()
		_, err = perdure.Run(ctx, eng, parent, "parent", 0, workflow.WeightedKey("ann", 3))
		ok(t, err)
		ok(t, perdure.Schedule(ctx, eng, "hourly", leaf, false, schedule.Spec{Every: time.Hour}, workflow.Key("ann")))
		time.Sleep(61 * time.Minute)
		found := map[string]int{}
		for _, key := range []string{"ann", "bob", "carl"} {
			runs, err := eng.List(ctx, view.Filter{Key: key})
			ok(t, err)
			for _, r := range runs {
				if r.Key != key || r.Attributes["#key"] != "" {
					t.Errorf("%s is found by %q: %+v", r.WorkflowID, key, r)
				}
				found[fmt.Sprint(key, " ", r.Workflow, " ", r.Weight, " ", r.Attributes)]++
			}
		}
		want := map[string]int{"ann parent 3 map[]": 1, "ann leaf 3 map[]": 1, "ann leaf 3 map[was:here]": 1, "bob leaf 0 map[was:here]": 1, "ann leaf 0 map[was:here]": 1}
		if fmt.Sprint(found) != fmt.Sprint(want) {
			t.Errorf("found %v, not %v", found, want)
		}
		for _, wrong := range []workflow.RunOption{workflow.Key("a\nb"), workflow.WeightedKey("", 2), workflow.WeightedKey("a", 1001)} {
			if _, err := perdure.Start(ctx, eng, parent, "wrong", 0, wrong); err == nil {
				t.Errorf("a wrong key is taken: %#v", wrong)
			}
		}
	})
}

func TestT5_AGateSaysWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		job := workflow.New("job", func(wf *workflow.Context, _ int) (int, error) {
			return workflow.Call(wf, work, 0, activity.Through(gate.New("till", 5, gate.WithPerKey(gate.PerKey{Limit: 1}))))
		})
		eng, err := perdure.Open(ctx, memory.New(), perdure.Register(job, work), perdure.Logger(slog.New(slog.DiscardHandler)))
		ok(t, err)
		ok(t, eng.Start(ctx))
		defer eng.Close()
		for i := range 9 {
			_, err := perdure.Start(ctx, eng, job, fmt.Sprint(i), 0, workflow.Key([]string{"ann", "ann", "bob"}[i%3]))
			ok(t, err)
		}
		time.Sleep(500 * time.Millisecond)
		gates, err := ops.Gates(ctx, eng)
		ok(t, err)
		var told []string
		for _, k := range gates[0].Keys {
			told = append(told, fmt.Sprint(k.Key, " ", k.Waiting, " ", k.Running, " ", time.Since(*k.Oldest)))
		}
		if got := fmt.Sprint(told); got != "[ann 5 1 500ms bob 2 1 500ms]" {
			t.Error(got)
		}
	})
}
