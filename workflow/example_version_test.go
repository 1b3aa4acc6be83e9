package workflow_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Subscription is changed while runs of it wait: version 1 greets before it waits.
var (
	Greet        = activity.New("greet", func(ctx context.Context, who string) (string, error) { return "hello " + who, nil })
	Ended        = workflow.NewSignal[string]("ended")
	Who          = workflow.NewQuery[struct{}, string]("who")
	Subscription = workflow.Declare[string, string]("subscription")
)

func subscriptionV0(wf *workflow.Context, who string) (string, error) {
	workflow.HandleQuery(wf, Who, func(struct{}) (string, error) { return who, nil })
	return workflow.Receive(wf, Ended)
}

func subscriptionV1(wf *workflow.Context, who string) (string, error) {
	text := "no greeting"
	if workflow.VersionOf(wf, "greet-first", 0, 1) >= 1 {
		var err error
		if text, err = workflow.Call(wf, Greet, who); err != nil {
			return "", err
		}
	}
	why, err := workflow.Receive(wf, Ended)
	return text + ", " + why, err
}

// Runs that passed the change before it was made keep what they did.
func ExampleVersionOf() {
	ctx := context.Background()
	db := memory.New()
	before := open(db, Subscription.Impl(subscriptionV0))
	ada, err := perdure.Start(ctx, before, Subscription, "ada", "ada")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(Who.Ask(ctx, ada, struct{}{})) // it waits for its signal
	before.Close()                             // the deploy

	after := open(db, Subscription.Impl(subscriptionV1), Greet)
	defer after.Close()
	if _, err := perdure.Start(ctx, after, Subscription, "bob", "bob"); err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{ada.ID(), "bob"} {
		if err := Ended.Send(ctx, after.Workflow(id), "goodbye"); err != nil {
			log.Fatal(err)
		}
		fmt.Println(perdure.Attach[string](after, id).Result(ctx))
	}
	// Output:
	// ada <nil>
	// no greeting, goodbye <nil>
	// hello bob, goodbye <nil>
}
