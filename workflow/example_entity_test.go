package workflow_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// An account is a run that never ends by itself. After every two movements it continues
// as new, with the balance as its input, so that its history stays short.
var (
	Move    = workflow.NewUpdate[int, int]("move")
	Balance = workflow.NewQuery[struct{}, int]("balance")
	Close   = workflow.NewSignal[struct{}]("close")
	Account = workflow.Declare[int, int]("account") // declared first, because it names itself
)

func account(wf *workflow.Context, balance int) (int, error) {
	moved := workflow.NewChannel[int](wf, 100)
	workflow.HandleQuery(wf, Balance, func(struct{}) (int, error) { return balance, nil })
	workflow.HandleUpdate(wf, Move, func(wf *workflow.Context, cents int) (int, error) {
		balance += cents
		return balance, moved.Send(wf, cents)
	}, workflow.Validator(func(cents int) error {
		if balance+cents < 0 {
			return fmt.Errorf("the balance is %d", balance)
		}
		return nil
	}))
	closed := workflow.ReceiveAsync(wf, Close)
	for range 2 {
		if workflow.WaitAny(wf, closed, moved.Receivable()) == 0 {
			return balance, workflow.FinishUpdates(wf)
		}
		if _, err := moved.Receive(wf); err != nil {
			return 0, err
		}
	}
	if err := workflow.FinishUpdates(wf); err != nil {
		return 0, err
	}
	return workflow.ContinueAsNew(wf, Account, balance)
}

// A workflow ID stands for a thing of the world, and takes messages for years.
func ExampleContinueAsNew() {
	ctx := context.Background()
	eng := open(memory.New(), Account.Impl(account))
	defer eng.Close()
	ada, err := perdure.Start(ctx, eng, Account, "account-of-ada", 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, cents := range []int{500, -200, -400, 100, 50} {
		fmt.Println(Move.Call(ctx, ada, cents))
	}
	fmt.Println(Balance.Ask(ctx, ada, struct{}{}))
	fmt.Println(Close.Send(ctx, ada, struct{}{}))
	fmt.Println(ada.Result(ctx))
	// Output:
	// 500 <nil>
	// 300 <nil>
	// 0 perdure: update "move" of "account-of-ada": update "move" was rejected: the balance is 300
	// 400 <nil>
	// 450 <nil>
	// 450 <nil>
	// <nil>
	// 450 <nil>
}
