package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Offer waits for a customer to accept it.
var (
	Accepted = workflow.NewSignal[string]("accepted")
	Offer    = workflow.New("offer", func(wf *workflow.Context, what string) (string, error) {
		return workflow.Receive(wf, Accepted)
	})
)

// A run that has not ended in time is closed as timed out, whatever it waits for.
func Example_runTimeout() {
	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(Offer))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		log.Fatal(err)
	}
	_, err = perdure.Run(ctx, eng, Offer, "offer-1", "a house", workflow.RunTimeout(100*time.Millisecond))
	fmt.Println(errors.Is(err, retry.ErrTimeout))
	fmt.Println(err)
	// Output:
	// true
	// workflow "offer-1" timed out: timeout: the run took longer than 100ms
}
