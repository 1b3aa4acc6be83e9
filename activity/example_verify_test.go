package activity_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// printer is a provider that takes no idempotency keys: each job that it gets is printed.
type printer struct {
	jobs   []string
	broken bool // it loses the next answer
}

// Print returns when the job is printed, or not at all.
func (p *printer) Print(job string) error {
	p.jobs = append(p.jobs, job)
	if p.broken {
		p.broken = false
		return errors.New("connection reset by peer")
	}
	return nil
}

// The printer is asked before a label is printed again. The body leaves the name of its job in a
// heartbeat before it sends it, so that the question knows what to look for.
func ExampleVerify() {
	office := &printer{broken: true}
	label := activity.New("label", func(ctx context.Context, parcel string) (string, error) {
		info, _ := activity.FromContext(ctx)
		job := fmt.Sprintf("%s, attempt %d", parcel, info.Attempt)
		if err := activity.Heartbeat(ctx, job); err != nil {
			return "", retry.NotDone(err) // not sent yet
		}
		if err := office.Print(job); err != nil {
			return "", retry.Unknown(err) // sent, and perhaps printed
		}
		return job, nil
	}, activity.Verify(func(ctx context.Context, parcel string, d activity.Doubt) (activity.Found[string], error) {
		job, sent, err := activity.Details[string](ctx)
		if err != nil {
			return activity.Found[string]{}, err
		}
		fmt.Printf("attempt %d %s: was %q printed?\n", d.Attempt, d.Outcome, job)
		for _, printed := range office.jobs {
			if sent && printed == job {
				return retry.Done(job), nil
			}
		}
		return retry.Absent[string](), nil
	}))
	ship := workflow.New("ship", func(wf *workflow.Context, parcel string) (string, error) {
		return workflow.Call(wf, label, parcel)
	})

	ctx := context.Background()
	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(ship, label))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	if err := eng.Start(ctx); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(perdure.Run(ctx, eng, ship, "parcel-7", "parcel 7"))
	fmt.Println(len(office.jobs), "printed")
	// Output:
	// attempt 1 failed: was "parcel 7, attempt 1" printed?
	// parcel 7, attempt 1 <nil>
	// 1 printed
}
