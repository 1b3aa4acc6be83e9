package perdure_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Report is started each night, and knows for which night it is.
var Report = workflow.New("report", func(wf *workflow.Context, shop string) (string, error) {
	return shop + " on " + workflow.GetInfo(wf).Nominal.Format(time.DateOnly), nil
})

// A schedule is durable when Schedule returns; calling it again at each start of the
// program changes nothing. Times of the past are fired by hand.
func ExampleSchedule() {
	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(Report))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		log.Fatal(err)
	}
	err = perdure.Schedule(ctx, eng, "nightly", Report, "Lyon", schedule.Spec{
		Cron: "30 2 * * *", TimeZone: "Europe/Paris", Jitter: 5 * time.Minute,
	})
	if err != nil {
		log.Fatal(err)
	}
	night := time.Date(2024, 3, 31, 0, 0, 0, 0, time.UTC)
	n, err := ops.BackfillSchedule(ctx, eng, "nightly", night, night.AddDate(0, 0, 1), "", ops.By("ann"), ops.Why("the printer was broken"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "time of the past")
	for {
		s, err := ops.DescribeSchedule(ctx, eng, "nightly")
		if err != nil {
			log.Fatal(err)
		}
		if len(s.Recent) > 0 {
			fmt.Println(s.Recent[0].WorkflowID, s.Recent[0].Status)
			break
		}
		time.Sleep(time.Millisecond)
	}
	text, err := perdure.Attach[string](eng, "nightly/2024-03-31T01:00:00Z").Result(ctx)
	fmt.Println(text, err)
	// Output:
	// 1 time of the past
	// nightly/2024-03-31T01:00:00Z completed
	// Lyon on 2024-03-31 <nil>
}
