package cli

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/workflow"
)

// watch continues as new, and in its third run fails until nothing is left to try.
var watch = workflow.Declare[int, string]("watch", workflow.Version("1"), workflow.RetryPolicy(slow))

func watching(wf *workflow.Context, n int) (string, error) {
	if err := workflow.Sleep(wf, time.Minute); err != nil {
		return "", err
	}
	if n < 3 {
		return workflow.ContinueAsNew(wf, watch, n+1)
	}
	return "", &unavailable{"the source is away"}
}

func beginChain(t *testing.T, e *perdure.Engine) {
	begin(t, e, watch, "source", 1, workflow.RunTimeout(time.Hour), workflow.ChainTimeout(24*time.Hour))
}

// fulfilment waits for a parcel and for a letter that no code can write, and lets an
// audit go.
var (
	parcel = workflow.New("parcel", func(wf *workflow.Context, d time.Duration) (string, error) {
		return "delivered", workflow.Sleep(wf, d)
	})
	letter = workflow.Declare[string, string]("letter")

	fulfilment = workflow.New("fulfilment", func(wf *workflow.Context, _ string) (string, error) {
		id := workflow.GetInfo(wf).WorkflowID
		if _, err := workflow.StartDetached(wf, parcel, 24*time.Hour, workflow.ChildID(id+"/audit")); err != nil {
			return "", err
		}
		sent := workflow.RunChildAsync(wf, parcel, time.Hour, workflow.ChildID(id+"/parcel"))
		//perdure:deterministic no process has its code, which is what the test shows
		written := workflow.RunChildAsync(wf, letter, "dear", workflow.ChildID(id+"/letter"), workflow.OnParentClose(workflow.ParentCloseTerminate))
		out, err := sent.Get(wf)
		if err != nil {
			return "", err
		}
		_, err = written.Get(wf)
		return out, err
	})
)

func beginFamily(t *testing.T, e *perdure.Engine) { begin(t, e, fulfilment, "order-17", "in") }

// sweep is what schedules start: it takes ten minutes.
var sweep = workflow.New("sweep", func(wf *workflow.Context, what string) (string, error) {
	if err := workflow.Sleep(wf, 10*time.Minute); err != nil {
		return "", err
	}
	if what == "the roof" {
		return "", errors.New("it is too high")
	}
	return "clean", nil
}, workflow.Version("1"))

// flows are the workflow and the actions of flow files.
func flows() []perdure.Definition {
	runtime, err := flow.New()
	if err != nil {
		panic(err)
	}
	return runtime.Definitions()
}
