package workflow_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Parcel collects where it was seen, until it is delivered.
var (
	Seen   = workflow.NewSignal[string]("seen")
	Parcel = workflow.New("parcel", func(wf *workflow.Context, to string) ([]string, error) {
		var route []string
		for {
			place, err := workflow.Receive(wf, Seen)
			if err != nil {
				return route, err
			}
			if route = append(route, place); place == to {
				return route, nil
			}
		}
	})
)

// A signal that is sent again under its key counts once.
func ExampleReceive() {
	ctx := context.Background()
	eng := open(memory.New(), Parcel)
	defer eng.Close()
	parcel, err := perdure.Start(ctx, eng, Parcel, "parcel-3", "Oslo")
	if err != nil {
		log.Fatal(err)
	}
	for scan, place := range []string{"Rome", "Bern", "Bern", "Oslo"} {
		err := Seen.SendOnce(ctx, parcel, fmt.Sprint("scan-", scan), place)
		if scan == 1 { // the scanner is not sure that it was heard
			err = Seen.SendOnce(ctx, parcel, "scan-1", place)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(parcel.Result(ctx))
	// Output: [Rome Bern Bern Oslo] <nil>
}
