package perdure_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Tally counts votes. It begins a new run with every second one, so that no
// history grows without an end.
var (
	Vote  = workflow.NewSignal[string]("vote")
	Tally = workflow.Declare[map[string]int, map[string]int]("tally")
)

func tally(wf *workflow.Context, votes map[string]int) (map[string]int, error) {
	for range 2 {
		who, err := workflow.Receive(wf, Vote)
		if err != nil {
			return nil, err
		}
		if who == "" {
			return votes, nil // it is over
		}
		votes[who]++
	}
	return workflow.ContinueAsNew(wf, Tally, votes)
}

// A workflow that could go on for ever continues as new. Signals that nobody has
// read wait for the next run, and the result is that of the last one.
func Example_continueAsNew() {
	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(Tally.Impl(tally)))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		log.Fatal(err)
	}
	election, err := perdure.Start(ctx, eng, Tally, "election", map[string]int{})
	if err != nil {
		log.Fatal(err)
	}
	for _, who := range []string{"ada", "bob", "ada", "ada", "bob", ""} {
		if err := Vote.Send(ctx, eng.Workflow("election"), who); err != nil {
			log.Fatal(err)
		}
	}
	votes, err := election.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	d, err := eng.Workflow("election").Describe(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(votes, "in", len(d.Chain), "runs")
	// Output: map[ada:3 bob:2] in 3 runs
}
