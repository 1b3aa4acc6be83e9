package workflow_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

var ErrNoStock = errors.New("out of stock")

func init() { retry.RegisterError("shop.NoStock", ErrNoStock) } // errors.Is holds across runs

// Deliver is a workflow of its own: it has a history, and can be retried, canceled and
// looked at by itself. Notify outlives the run that starts it.
var (
	Deliver = workflow.New("deliver", func(wf *workflow.Context, item string) (string, error) {
		if item == "unicorn" {
			return "", retry.Terminal(fmt.Errorf("%s: %w", item, ErrNoStock))
		}
		return item + " delivered", nil
	})
	Notify = workflow.New("notify", func(wf *workflow.Context, text string) (string, error) { return text, nil })
	Order  = workflow.New("order", func(wf *workflow.Context, items []string) (string, error) {
		done, err := workflow.Map(wf, items, func(wf *workflow.Context, item string) (string, error) {
			return workflow.RunChild(wf, Deliver, item)
		})
		if err != nil {
			return "", err // a *workflow.ChildError around the error of the child
		}
		note, err := workflow.StartDetached(wf, Notify, fmt.Sprint(done))
		return note.WorkflowID, err
	})
)

// A workflow starts others, and waits for them or lets them go.
func ExampleRunChild() {
	ctx := context.Background()
	eng := open(memory.New(), Order, Deliver, Notify)
	defer eng.Close()
	note, err := perdure.Run(ctx, eng, Order, "order-1", []string{"book", "lamp"})
	fmt.Println(err)
	fmt.Println(perdure.Attach[string](eng, note).Result(ctx))
	_, err = perdure.Run(ctx, eng, Order, "order-2", []string{"book", "unicorn"})
	fmt.Println(errors.Is(err, ErrNoStock))
	// Output:
	// <nil>
	// [book delivered lamp delivered] <nil>
	// true
}
