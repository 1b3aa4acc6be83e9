package ops_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

var greet = activity.New("greet", func(ctx context.Context, name string) (string, error) {
	return "hello " + name, nil
})

var hello = workflow.New("hello", func(wf *workflow.Context, name string) (string, error) {
	return workflow.Call(wf, greet, name)
})

// An exhausted call waits for a person, who is told, and who pays by hand.
func ExampleControl() {
	ctx := context.Background()
	charge := activity.New("charge", func(context.Context, int) (string, error) {
		return "", errors.New("the gateway is down")
	}, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.None, OnExhausted: retry.Pause}))
	checkout := workflow.New("checkout", func(wf *workflow.Context, amount int) (string, error) {
		return workflow.Call(wf, charge, amount)
	})
	paused := make(chan view.PausedCall, 1)
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(checkout, charge),
		perdure.OnPaused(func(p view.PausedCall) { paused <- p }))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		log.Fatal(err)
	}
	order, err := perdure.Start(ctx, eng, checkout, "order-17", 42)
	if err != nil {
		log.Fatal(err)
	}
	p := <-paused
	fmt.Printf("%s of %s is %s: %s, %v\n", p.Name, p.WorkflowID, p.State, p.Reason, p.Err)

	_, err = ops.Control(ctx, eng, "order-17", view.CallFilter{Name: "charge"}, ops.Skip("paid in cash"), ops.By("ann"), ops.Why("the customer is in the shop"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(order.Result(ctx))
	audit, err := eng.Workflow("order-17").Audit(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range audit {
		fmt.Println(r.Operation, r.By, r.Why)
	}
	// Output:
	// charge of order-17 is paused: max_attempts, the gateway is down
	// paid in cash <nil>
	// pause  max_attempts
	// skip ann the customer is in the shop
}

// Calls of an activity whose service is down wait, on all nodes.
func ExamplePauseActivity() {
	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(hello, greet))
	if err == nil {
		err = eng.Start(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if _, err := ops.PauseActivity(ctx, eng, "greet", ops.By("ann"), ops.Why("nobody is awake")); err != nil {
		log.Fatal(err)
	}
	h, err := perdure.Start(ctx, eng, hello, "hello-1", "world")
	if err != nil {
		log.Fatal(err)
	}
	d, err := eng.Workflow("hello-1").Describe(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Pending[0].Name, d.Pending[0].State, d.Pending[0].ActivityPaused.Why)
	if _, err := ops.ResumeActivity(ctx, eng, "greet"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.Result(ctx))
	// Output:
	// greet queued nobody is awake
	// hello world <nil>
}

// An outage has ended: all that wait for their next attempt go on now.
func ExampleControlAll() {
	ctx := context.Background()
	down := true
	charge := activity.New("charge", func(_ context.Context, amount int) (int, error) {
		if down {
			return 0, errors.New("the gateway is down")
		}
		return amount, nil
	}, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour)}))
	checkout := workflow.New("checkout", func(wf *workflow.Context, amount int) (int, error) {
		return workflow.Call(wf, charge, amount)
	})
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(checkout, charge), perdure.Concurrency(1))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		log.Fatal(err)
	}
	for n := range 3 {
		if _, err := perdure.Start(ctx, eng, checkout, fmt.Sprintf("order-%d", n), n); err != nil {
			log.Fatal(err)
		}
	}
	waiting := view.CallFilter{Name: "charge", States: []string{"backoff"}}
	for {
		plan, err := ops.ControlAll(ctx, eng, view.Filter{Workflow: "checkout"}, waiting, ops.RetryNow(), ops.DryRun())
		if err != nil {
			log.Fatal(err)
		}
		if plan.Calls == 3 {
			break
		}
	}
	down = false
	done, err := ops.ControlAll(ctx, eng, view.Filter{Workflow: "checkout"}, waiting, ops.RetryNow(), ops.Why("the gateway is back"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Applied, "of", done.Calls)
	for n := range 3 {
		fmt.Println(perdure.Attach[int](eng, fmt.Sprintf("order-%d", n)).Result(ctx))
	}
	// Output:
	// 3 of 3
	// 0 <nil>
	// 1 <nil>
	// 2 <nil>
}
