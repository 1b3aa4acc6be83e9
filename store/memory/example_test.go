package memory_test

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

// The data belong to the database: a handle can be closed, and the next one
// finds them.
func Example() {
	ctx := context.Background()
	db := memory.New()

	first, err := db.Open(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = first.Create(ctx, store.Run{
		ID: "01", WorkflowID: "order-17", Type: "checkout", Chain: "01", Attempt: 1,
		RunState: store.RunState{Status: store.Running, Wake: store.Hot},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	first.Close()

	again, err := db.Open(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer again.Close()
	run, err := again.Find(ctx, 0, "order-17", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Type, run.Status)
	// Output: checkout running
}
