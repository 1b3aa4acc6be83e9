package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE60_ACallThatKillsWaitsForAnotherBuild: a quarantined call says which processes it crashed
// and of which build. While every live node has that build, retry-now is refused and a dry run
// says so, unless it is forced; on another build it is retried.
func TestE60_ACallThatKillsWaitsForAnotherBuild(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		dangerous := activity.New("dangerous", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done() // until the process is killed
			return 0, ctx.Err()
		}, activity.Retry(retry.Policy{CrashLimit: 2}))
		crash := workflow.New("crash", func(wf *workflow.Context, _ int) (int, error) { return workflow.Call(wf, dangerous, 0) })
		of := func(build string) *engine.Engine {
			c := w.config(crash, dangerous)
			c.Build = build
			return w.startWith(c)
		}
		e := of("v1")
		begin(t, e, crash, "x", 0)
		for range 4 { // the first two were not alone on probation
			settle()
			w.kill(e)
			e = of("v1")
		}
		settle()
		p := onlyCall(t, e, "x")
		if p.State != view.CallQuarantined || len(p.Crashes) != 2 || p.Crashes[0].Build != "v1" || p.Crashed == nil || !p.NoOtherBuild {
			t.Fatalf("%+v", p)
		}
		retryNow := core.Control{Operation: core.RetryNow}
		dry, err := e.Preview(t.Context(), "x", retryNow)
		if err != nil || len(dry) != 1 || dry[0].Outcome != view.Refused || !dry[0].Time.IsZero() {
			t.Errorf("a dry run: %+v, %v", dry, err)
		}
		all, err := e.ControlAll(t.Context(), view.Filter{}, retryNow, true)
		if err != nil || all.Calls != 1 || all.Refused != 1 {
			t.Errorf("a dry run of all: %+v, %v", all, err)
		}
		_, err = e.Control(t.Context(), "x", "", retryNow)
		if refused, ok := errors.AsType[*request.RefusedError](err); !ok || !strings.Contains(refused.Record.Note, "crashed its process 2 times, and every live node has a build") {
			t.Errorf("on the build that it crashed: %v", err)
		}
		forced := retryNow
		forced.Force = true // as ops.Force does
		control(t, e, "x", forced)
		settle()
		same(t, "forced", onlyCall(t, e, "x").State, "running")
		for range 2 {
			w.kill(e)
			e = of("v1")
			settle()
		}
		same(t, "again", onlyCall(t, e, "x").State, view.CallQuarantined)
		w.kill(e)
		e = of("v2")
		settle()
		if p := onlyCall(t, e, "x"); p.NoOtherBuild || len(p.Crashes) != 2 {
			t.Errorf("beside another build: %+v", p)
		}
		control(t, e, "x", retryNow)
		settle()
		same(t, "on another build", onlyCall(t, e, "x").State, "running")
	})
}
