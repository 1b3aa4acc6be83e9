package workflow_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Offer is accepted in time, or expires.
var (
	Accepted = workflow.NewSignal[string]("accepted")
	Offer    = workflow.New("offer", func(wf *workflow.Context, valid time.Duration) (string, error) {
		accepted := workflow.ReceiveAsync(wf, Accepted)
		if workflow.Select(wf, accepted, workflow.NewTimer(wf, valid)) == 1 {
			return "expired", nil
		}
		return accepted.Get(wf)
	})
)

// The first of several events decides.
func ExampleSelect() {
	ctx := context.Background()
	eng := open(memory.New(), Offer)
	defer eng.Close()
	fmt.Println(perdure.Run(ctx, eng, Offer, "offer-1", 20*time.Millisecond))

	second, err := perdure.Start(ctx, eng, Offer, "offer-2", 30*24*time.Hour)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(Accepted.Send(ctx, second, "accepted by ada"))
	fmt.Println(second.Result(ctx))
	// Output:
	// expired <nil>
	// <nil>
	// accepted by ada <nil>
}
