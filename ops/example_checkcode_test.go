package ops_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// Would the runs that are open go on with the next version?
func ExampleCheckCode() {
	begun := make(chan bool, 1)
	reserve := activity.New("reserve", func(ctx context.Context, _ string) (string, error) {
		begun <- true
		<-ctx.Done() // the order is under way until the engine stops
		return "", ctx.Err()
	})
	charge := activity.New("charge", func(context.Context, string) (string, error) { return "yes", nil })
	version1 := workflow.New("order", func(wf *workflow.Context, id string) (string, error) {
		if _, err := workflow.Call(wf, reserve, id); err != nil {
			return "", err
		}
		return workflow.Call(wf, charge, id)
	})
	version2 := workflow.New("order", func(wf *workflow.Context, id string) (string, error) {
		if _, err := workflow.Call(wf, charge, id); err != nil { // the other way round
			return "", err
		}
		return workflow.Call(wf, reserve, id)
	})
	quiet := perdure.Logger(slog.New(slog.DiscardHandler))
	ctx, db := context.Background(), memory.New()
	serving, err := perdure.Open(ctx, db, perdure.Register(version1, reserve, charge), quiet)
	if err == nil {
		err = serving.Start(ctx)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer serving.Close()
	if _, err := perdure.Start(ctx, serving, version1, "order-17", "17"); err != nil {
		fmt.Println(err)
		return
	}
	<-begun

	next, err := perdure.Open(ctx, db, perdure.Register(version2, reserve, charge), quiet) // and not started
	if err != nil {
		fmt.Println(err)
		return
	}
	defer next.Close()
	found, err := ops.CheckCode(ctx, next, view.CodeFilter{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range found.Findings {
		fmt.Printf("%s %s: %s\n", f.WorkflowID, f.Verdict, f.Reason)
	}
	fmt.Println("deploy:", found.OK)
	// Output:
	// order-17 parks: the code does not fit the history: turn 1, command 1: history has ActivityScheduled "reserve", the code asks for ActivityScheduled "charge" (the name differs) (see docs/deploying.md#changes-that-do-not-fit)
	// deploy: false
}
