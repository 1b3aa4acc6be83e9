package perdure_test

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Bodies that have no result, or no input, need not name one.
func Example_withoutResult() {
	notify := activity.New("notify", activity.NoResult(func(ctx context.Context, whom string) error {
		fmt.Println("dear", whom)
		return nil
	}))
	name := activity.New("name", activity.NoInput(func(ctx context.Context) (string, error) { return "ann", nil }))
	sweep := activity.New("sweep", activity.Task(func(ctx context.Context) error { return nil }))
	reader := workflow.New("reader", workflow.NoInput(func(wf *workflow.Context) (string, error) {
		return workflow.Call(wf, name, struct{}{})
	}))
	nightly := workflow.New("nightly", workflow.Task(func(wf *workflow.Context) error {
		whom, err := workflow.RunChild(wf, reader, struct{}{})
		if err != nil {
			return err
		}
		if _, err := workflow.Call(wf, notify, whom); err != nil {
			return err
		}
		if _, err := workflow.Call(wf, sweep, struct{}{}); err != nil {
			return err
		}
		return workflow.DoErr(wf, "log", func(ctx context.Context) error {
			fmt.Println("done")
			return nil
		})
	}))

	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(nightly, reader, notify, name, sweep))
	if err == nil {
		err = eng.Start(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	_, err = perdure.Run(ctx, eng, nightly, "monday", struct{}{})
	fmt.Println(err)
	// Output:
	// dear ann
	// done
	// <nil>
}
