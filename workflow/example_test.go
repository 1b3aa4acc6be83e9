package workflow_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// A claim for expenses waits for a decision, and is paid.
var (
	Pay = activity.New("pay", func(ctx context.Context, cents int) (string, error) {
		return fmt.Sprintf("paid %d", cents), nil // ordinary Go: it may do I/O, and fail
	})
	Decided = workflow.NewSignal[bool]("decided")
	Claim   = workflow.New("claim", func(wf *workflow.Context, cents int) (string, error) {
		yes, err := workflow.Receive(wf, Decided) // a year, if need be
		if err != nil || !yes {
			return "refused", err
		}
		return workflow.Call(wf, Pay, cents)
	})
)

func Example() {
	ctx := context.Background()
	eng := open(memory.New(), Claim, Pay)
	defer eng.Close()
	claim, err := perdure.Start(ctx, eng, Claim, "claim-7", 1200)
	if err != nil {
		log.Fatal(err)
	}
	if err := Decided.Send(ctx, claim, true); err != nil {
		log.Fatal(err)
	}
	fmt.Println(claim.Result(ctx))
	// Output: paid 1200 <nil>
}

// open starts an engine with the workflows and activities of a program.
func open(db store.Opener, definitions ...perdure.Definition) *perdure.Engine {
	eng, err := perdure.Open(context.Background(), db, perdure.Register(definitions...))
	if err == nil {
		err = eng.Start(context.Background())
	}
	if err != nil {
		log.Fatal(err)
	}
	return eng
}
