package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Cart collects items until it is checked out.
var (
	AddItem  = workflow.NewUpdate[string, int]("add-item")
	CheckOut = workflow.NewSignal[struct{}]("check-out")

	Cart = workflow.New("cart", func(wf *workflow.Context, most int) ([]string, error) {
		var items []string
		workflow.HandleUpdate(wf, AddItem, func(wf *workflow.Context, item string) (int, error) {
			items = append(items, item) // it could call activities as well
			return len(items), nil
		}, workflow.Validator(func(item string) error {
			if len(items) == most {
				return fmt.Errorf("there are %d items already", most)
			}
			return nil
		}))
		_, err := workflow.Receive(wf, CheckOut)
		return items, errors.Join(err, workflow.FinishUpdates(wf))
	})
)

// An update changes a run and returns a result; its validator may reject it.
func ExampleHandleUpdate() {
	ctx := context.Background()
	eng := open(memory.New(), Cart)
	defer eng.Close()
	cart, err := perdure.Start(ctx, eng, Cart, "cart-1", 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range []string{"grinder", "beans", "cup"} {
		n, err := AddItem.CallOnce(ctx, cart, "the "+item, item)
		if rejected, is := errors.AsType[*workflow.RejectedError](err); is {
			fmt.Println(rejected)
			break
		}
		fmt.Println(n, err)
	}
	if err := CheckOut.Send(ctx, cart, struct{}{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(cart.Result(ctx))
	// Output:
	// 1 <nil>
	// 2 <nil>
	// update "add-item" was rejected: there are 2 items already
	// [grinder beans] <nil>
}
