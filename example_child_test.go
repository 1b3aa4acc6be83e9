package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

var ErrNoStock = errors.New("out of stock")

func init() { retry.RegisterError("example.NoStock", ErrNoStock) }

// Deliver is a workflow of its own: each delivery has a history, and could be
// retried, canceled and looked at by itself.
var Deliver = workflow.New("deliver", func(wf *workflow.Context, item string) (string, error) {
	if item == "unicorn" {
		return "", retry.Terminal(fmt.Errorf("%s: %w", item, ErrNoStock))
	}
	return item + " delivered", nil
})

// Notify outlives the run that starts it.
var Notify = workflow.New("notify", func(wf *workflow.Context, text string) (string, error) { return text, nil })

var Order = workflow.New("order", func(wf *workflow.Context, items []string) (string, error) {
	done, err := workflow.Map(wf, items, func(wf *workflow.Context, item string) (string, error) {
		return workflow.RunChild(wf, Deliver, item)
	})
	if child, ok := errors.AsType[*workflow.ChildError](err); ok {
		return "", fmt.Errorf("%s %s: %w", child.Workflow, child.Status, err)
	}
	note, err := workflow.StartDetached(wf, Notify, fmt.Sprint(done), workflow.ChildID("note-of-"+workflow.GetInfo(wf).WorkflowID))
	return note.WorkflowID, err
})

// A workflow starts others, and waits for them or lets them go. They run on whatever
// node serves their IDs; what they come to reaches the one that started them exactly
// once.
func Example_children() {
	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(Order, Deliver, Notify))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		log.Fatal(err)
	}
	note, err := perdure.Run(ctx, eng, Order, "order-1", []string{"book", "lamp"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(perdure.Attach[string](eng, note).Result(ctx))
	_, err = perdure.Run(ctx, eng, Order, "order-2", []string{"book", "unicorn"})
	fmt.Println(errors.Is(err, ErrNoStock))
	// Output:
	// [book delivered lamp delivered] <nil>
	// true
}
