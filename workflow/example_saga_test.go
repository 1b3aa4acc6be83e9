package workflow_test

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Trip books a flight and a hotel, or neither.
var (
	Reserve = activity.New("reserve", func(ctx context.Context, what string) (string, error) {
		if what == "castle" {
			return "", retry.Terminal(fmt.Errorf("the %s is full", what))
		}
		return what + "-1", nil
	})
	Undo = activity.New("undo", func(ctx context.Context, booking string) (string, error) {
		fmt.Println("undo", booking)
		return "", nil
	})
	Trip = workflow.New("trip", func(wf *workflow.Context, hotel string) (string, error) {
		return workflow.Saga(wf, func(wf *workflow.Context, undo *workflow.Undo) (string, error) {
			back := func(wf *workflow.Context, booking string) error {
				_, err := workflow.Call(wf, Undo, booking)
				return err
			}
			if _, err := workflow.CallWithUndo(wf, undo, Reserve, "flight", back); err != nil {
				return "", err
			}
			return workflow.CallWithUndo(wf, undo, Reserve, hotel, back)
		})
	})
)

// If a step of a saga fails, what was done before is undone, the last first.
func ExampleSaga() {
	eng := open(memory.New(), Trip, Reserve, Undo)
	defer eng.Close()
	_, err := perdure.Run(context.Background(), eng, Trip, "trip-1", "castle")
	fmt.Println(err)
	// Output:
	// undo flight-1
	// workflow "trip-1" failed: the castle is full
}
