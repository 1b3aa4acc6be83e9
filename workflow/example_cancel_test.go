package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Search asks two shops and needs one price. If the run is canceled, it gives up its hold.
var (
	Price = activity.New("price", func(ctx context.Context, shop string) (string, error) {
		if shop == "slow" {
			<-ctx.Done() // a canceled attempt should end
			return "", ctx.Err()
		}
		return "9.90 at " + shop, nil
	})
	GiveUp = activity.New("give-up", func(ctx context.Context, what string) (string, error) { return "gave up " + what, nil })

	Search = workflow.New("search", func(wf *workflow.Context, think time.Duration) (string, error) {
		scope, cancel := workflow.WithCancel(wf)
		fast, slow := workflow.Async(scope, Price, "fast"), workflow.Async(scope, Price, "slow")
		workflow.WaitAny(wf, fast, slow)
		cancel() // ends what the scope still waits for: slow.Get returns a *retry.AbortedError
		price, err := fast.Get(wf)
		if err == nil {
			err = workflow.Sleep(wf, think)
		}
		if canceled, is := errors.AsType[*workflow.CancelError](err); is {
			return workflow.Call(workflow.Shield(wf), GiveUp, "the hold: "+canceled.Reason)
		}
		return price, err
	})
)

// A scope is canceled by the code, a run from outside. Shield cleans up after both.
func ExampleWithCancel() {
	ctx := context.Background()
	eng := open(memory.New(), Search, Price, GiveUp)
	defer eng.Close()
	fmt.Println(perdure.Run(ctx, eng, Search, "search-1", time.Millisecond))

	long, err := perdure.Start(ctx, eng, Search, "search-2", 24*time.Hour)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(long.Cancel(ctx, "the customer left"))
	fmt.Println(long.Result(ctx))
	// Output:
	// 9.90 at fast <nil>
	// <nil>
	// gave up the hold: the customer left <nil>
}
