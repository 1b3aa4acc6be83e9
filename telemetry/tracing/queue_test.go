package tracing_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/telemetry/tracing"
	"github.com/perdure/perdure/workflow"
)

// TestE129_AttemptsOfWorkers: an attempt in a queue is a span of the worker that runs it,
// below the call, which another process closes, of a run whose start was not traced.
func TestE129_AttemptsOfWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := newCollector(), memory.New()
		offered := activity.Declare[int, int]("render", activity.Queue("gpu"), activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.Fixed(time.Minute), Jitter: retry.NoJitter}))
		render := offered.Impl(func(ctx context.Context, n int) (int, error) {
			time.Sleep(time.Second)
			if info, _ := activity.FromContext(ctx); info.Attempt == 1 {
				return 0, errors.New("secret")
			}
			return n, ctx.Err()
		})
		flow := workflow.New("flow", func(wf *workflow.Context, n int) (int, error) { return workflow.Call(wf, offered, n) })
		client, err := perdure.Open(t.Context(), db, perdure.Register(flow))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		owner := open(t, db, perdure.Register(flow), tracing.Engine(c))
		defer owner.Close()
		worker, err := perdure.Open(t.Context(), db, perdure.NodeName("worker"), perdure.ServeQueue("gpu", 1), perdure.Register(render), tracing.Engine(c))
		if err == nil {
			err = worker.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		defer worker.Close()
		if _, err := perdure.Run(t.Context(), client, flow, "f", 1); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		got := tree(t, c.GetSpans())
		for i := range got { // it may be in line for a moment before it begins
			got[i] = strings.Replace(got[i], "1m2.1s", "1m2s", 1)
		}
		want := []string{
			"attempt render 1 < call render, 1s, Error",
			"attempt render 2 < call render, 1s, after attempt render 1",
			"call render < run flow, 1m2s, completed, 2",
			"run flow < , 1m2s, completed",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the spans are\n\t%s", strings.Join(got, "\n\t"))
		}
	})
}
