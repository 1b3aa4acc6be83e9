package perdure_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// A worker runs what is offered in its queue, and knows nothing of workflows.
func ExampleServeQueue() {
	render := activity.Declare[string, string]("render", activity.Queue("gpu"))
	film := workflow.New("film", func(wf *workflow.Context, title string) (string, error) {
		return workflow.Call(wf, render, title)
	})
	ctx, db := context.Background(), memory.New()

	studio, err := perdure.Open(ctx, db, perdure.NodeName("studio"), perdure.Register(film))
	if err != nil {
		log.Fatal(err)
	}
	defer studio.Close()
	farm, err := perdure.Open(ctx, db, perdure.NodeName("farm"), perdure.ServeQueue("gpu", 4),
		perdure.Register(render.Impl(func(_ context.Context, title string) (string, error) {
			return "the picture of " + title, nil
		})))
	if err != nil {
		log.Fatal(err)
	}
	defer farm.Close()
	for _, process := range []*perdure.Engine{studio, farm} {
		if err := process.Start(ctx); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(perdure.Run(ctx, studio, film, "one", "Metropolis"))
	// Output: the picture of Metropolis <nil>
}
