package workflow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/workflow"
)

// Reminder waits for as long as its input says, over any number of processes.
var Reminder = workflow.New("reminder", func(wf *workflow.Context, wait time.Duration) (bool, error) {
	began := workflow.Now(wf) // not time.Now: a replay gets the same time
	err := workflow.Sleep(wf, wait)
	return workflow.Now(wf).Sub(began) >= wait, err // the error is that the run was canceled
})

// A timer is a row in the database.
func ExampleSleep() {
	eng := open(memory.New(), Reminder)
	defer eng.Close()
	fmt.Println(perdure.Run(context.Background(), eng, Reminder, "reminder-12", 20*time.Millisecond))
	// Output: true <nil>
}
