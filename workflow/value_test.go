package workflow_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/workflow"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

func TestE40_ZeroSleepMakesNoTimer(t *testing.T) {
	w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		log("%v %v", workflow.Sleep(wf, 0), workflow.Sleep(wf, -time.Second))
		return "", nil
	})
	expect(t, log, "<nil> <nil>")
	if !slices.Equal(w.kinds(), []string{"RunCompleted"}) {
		t.Errorf("%q", w.kinds())
	}
}

func TestE40_NowStandsStillAndIsUTC(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		a := workflow.Now(wf)
		_ = workflow.SideEffect(wf, "x", func() int { return 1 })
		b := workflow.Now(wf)
		_ = workflow.Sleep(wf, time.Hour)
		log("%s %t %s %s", a.Format(time.RFC3339), a == b, workflow.Now(wf).Sub(a), a.Location())
		log("%s", workflow.GetInfo(wf).Started.Location())
		return "", nil
	})
	expect(t, log, "2026-01-01T00:00:00Z true 1h0m0s UTC", "UTC")
}

func TestE40_RandomIsTheRunsOwn(t *testing.T) {
	draw := func(run string) (ids []string) {
		w := workflow.New("test", func(wf *workflow.Context, _ int) (string, error) {
			for range 100 {
				ids = append(ids, workflow.UUID(wf))
			}
			_ = workflow.Sleep(wf, time.Second)
			workflow.Rand(wf).IntN(10)
			return "", nil
		})
		r := core.New(core.Config{}, history.Start{Run: run, Created: start})
		i := seal.Of(w).Begin(r)
		r.Bind(i)
		if _, err := r.Step(start, nil, func(*core.Call) bool { return true }); err != nil {
			t.Fatal(err)
		}
		<-i.Close()
		return ids
	}
	a, again, b := draw("a"), draw("a"), draw("b")
	if !slices.Equal(a, again) {
		t.Error("the same run draws other numbers")
	}
	v4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for _, id := range append(a, b...) {
		if !v4.MatchString(id) || seen[id] {
			t.Errorf("%s is no version 4 UUID, or not new", id)
		}
		seen[id] = true
	}
}

func TestE40_SideEffectsAreRecorded(t *testing.T) {
	drawn := 0
	w, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		a := workflow.SideEffect(wf, "draw", func() []int { drawn++; return []int{drawn} })
		_ = workflow.Sleep(wf, time.Second)
		b := workflow.SideEffect(wf, "draw", func() int { drawn++; return drawn })
		log("%v %d", a, b)
		return "", nil
	})
	expect(t, log, "[1] 2")
	// Replaying no turn at all, or the first only, draws again: nothing was durable.
	if w.has("SideEffectRecorded draw") != 2 {
		t.Errorf("%q", w.kinds())
	}
}

// The run is parked for it: what a side effect is worth is not known.
func TestE40_SideEffectThatCannotBeRecordedPanics(t *testing.T) {
	for want, fn := range map[string]script{
		`side effect "draw": a value of type chan int cannot be encoded`: func(wf *workflow.Context, log logger) (string, error) {
			workflow.SideEffect(wf, "draw", func() chan int { return nil })
			return "", nil
		},
		"no value": func(wf *workflow.Context, log logger) (string, error) {
			workflow.SideEffect(wf, "draw", func() string { panic("no value") })
			return "", nil
		},
	} {
		w := newWorld(t, fn, new([]string))
		_, err := w.run.Step(w.now, nil, func(*core.Call) bool { return true })
		<-w.instance.Close()
		if err == nil || !contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

func TestE26_Info(t *testing.T) {
	_, log := play(t, func(wf *workflow.Context, log logger) (string, error) {
		log("%+v", workflow.GetInfo(wf))
		return "", nil
	})
	expect(t, log, "{WorkflowID:w RunID:run-1 Workflow:test Attempt:1 Trace:trace Headers:map[] Started:2026-01-01 00:00:00 +0000 UTC HistoryLength:0 RunDeadline:0001-01-01 00:00:00 +0000 UTC ChainDeadline:0001-01-01 00:00:00 +0000 UTC Schedule: Nominal:0001-01-01 00:00:00 +0000 UTC}")
}
