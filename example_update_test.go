package perdure_test

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

// An update changes a run and is answered; its validator may reject it.
func Example_update() {
	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(Cart))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		log.Fatal(err)
	}
	cart, err := perdure.Start(ctx, eng, Cart, "cart-1", 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range []string{"grinder", "beans", "cup"} {
		n, err := AddItem.CallOnce(ctx, eng.Workflow("cart-1"), "the "+
			item, item)
		if rejected, is := errors.AsType[*workflow.RejectedError](err); is {
			fmt.Println(rejected)
		} else if err != nil {
			log.Fatal(err)
		} else {
			fmt.Println(n)
		}
	}
	if err := CheckOut.Send(ctx, eng.Workflow("cart-1"), struct{}{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(cart.Result(ctx))
	// Output:
	// 1
	// 2
	// update "add-item" was rejected: there are 2 items already
	// [grinder beans] <nil>
}
