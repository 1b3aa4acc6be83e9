package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// An exhausted call waits for a person, who is told, and who pays by hand.
func ExampleEngine_Control() {
	ctx := context.Background()
	charge := activity.New("charge", func(context.Context, int) (string, error) {
		return "", errors.New("the gateway is down")
	}, activity.Retry(retry.Policy{MaxAttempts: 2, Backoff: retry.None, OnExhausted: retry.Pause}))
	checkout := workflow.New("checkout", func(wf *workflow.Context, amount int) (string, error) {
		return workflow.Call(wf, charge, amount)
	})
	paused := make(chan perdure.Paused, 1)
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(checkout, charge),
		perdure.OnPaused(func(p perdure.Paused) { paused <- p }))
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

	_, err = eng.Control(ctx, "order-17", perdure.Calls{Name: "charge"}, perdure.Skip("paid in cash"),
		perdure.By("ann"), perdure.Why("the customer is in the shop"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(order.Result(ctx))
	audit, err := eng.Audit(ctx, "order-17")
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
func ExampleEngine_PauseActivity() {
	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(hello, greet))
	if err == nil {
		err = eng.Start(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if _, err := eng.PauseActivity(ctx, "greet", perdure.By("ann"), perdure.Why("nobody is awake")); err != nil {
		log.Fatal(err)
	}
	h, err := perdure.Start(ctx, eng, hello, "hello-1", "world")
	if err != nil {
		log.Fatal(err)
	}
	d, err := eng.Describe(ctx, "hello-1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d.Pending[0].Name, d.Pending[0].State, d.Pending[0].ActivityPaused.Why)
	if _, err := eng.ResumeActivity(ctx, "greet"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.Result(ctx))
	// Output:
	// greet queued nobody is awake
	// hello world <nil>
}

// An outage is over: all that wait for their next attempt go on now.
func ExampleEngine_ControlAll() {
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
	waiting := perdure.Calls{Name: "charge", States: []string{"backoff"}}
	for {
		plan, err := eng.ControlAll(ctx, perdure.Filter{Workflow: "checkout"}, waiting, perdure.RetryNow(), perdure.DryRun())
		if err != nil {
			log.Fatal(err)
		}
		if plan.Calls == 3 {
			break
		}
	}
	down = false
	done, err := eng.ControlAll(ctx, perdure.Filter{Workflow: "checkout"}, waiting, perdure.RetryNow(), perdure.Why("the gateway is back"))
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
