package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
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

// pinned stays on its build, and free does not.
var (
	sleepADay = func(wf *workflow.Context, _ int) (string, error) { return "", workflow.Sleep(wf, 24*time.Hour) }
	pinned    = workflow.New("pinned", sleepADay, workflow.Pinned())
	free      = workflow.New("free", sleepADay)
)

func beginPinned(t *testing.T, e *perdure.Engine) {
	for _, w := range []workflow.Workflow[int, string]{pinned, free} {
		for n := range 3 {
			begin(t, e, w, fmt.Sprintf("%s-%d", w.Name(), n), n)
			time.Sleep(10 * time.Millisecond) // so that each has its own time of start
		}
	}
	time.Sleep(time.Second)
}

// encrypted encrypts with the keys of codec.json.
func encrypted(t *testing.T, db store.Opener) store.Opener {
	codecs, err := codec.File("codec.json")
	must(t, err)
	return codec.Over(db, codecs...)
}

var checkout = workflow.New("checkout", func(wf *workflow.Context, card string) (string, error) { return card, workflow.Sleep(wf, time.Hour) })

func beginEncrypted(t *testing.T, e *perdure.Engine) { begin(t, e, checkout, "order-17", "4111 1111") }

// otherFlow is the workflow of flow files as another version might interpret them. Its input is a
// secret, and its names are hostile.
var (
	otherStep = activity.New("step "+evil, func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	otherFlow = workflow.New(flow.Workflow.Name(), func(wf *workflow.Context, p flow.Program) (json.RawMessage, error) {
		_, err := workflow.Call(wf, otherStep, p.Name+" hunter2")
		return nil, err
	})
)

func beginOtherFlows(t *testing.T, e *perdure.Engine) {
	for i := range 5 {
		p := flow.Program{Name: "wait.flow", Source: "return 1\n"}
		begin(t, e, otherFlow, fmt.Sprint("run ", i, evil, strings.Repeat("-long", 30)), p)
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(time.Second)
}

// beginFlow begins a flow file that is in its midst after a second.
func beginFlow(t *testing.T, e *perdure.Engine) {
	runtime, err := flow.New()
	must(t, err)
	file, err := runtime.Load("wait.flow", "@log(message=\"one\")\nsleep 3600\n@log(message=\"two\")\n")
	must(t, err)
	p, err := file.With(nil)
	must(t, err)
	begin(t, e, flow.Workflow, "waits", p)
	time.Sleep(time.Second)
}

// ask hands out a token, in a file.
var (
	ask = activity.New("ask", func(ctx context.Context, id string) (string, error) {
		if err := os.WriteFile("token-"+id, []byte(activity.Token(ctx)), 0o600); err != nil {
			return "", err
		}
		return "", activity.ErrPending
	}, activity.Retry(retry.Policy{AttemptTimeout: time.Hour, Backoff: retry.None, NonRetryable: []string{"Declined"}}))
	desk = workflow.New("desk", func(wf *workflow.Context, id string) (string, error) { return workflow.Call(wf, ask, id) })
)

func beginDesk(t *testing.T, e *perdure.Engine) {
	begin(t, e, desk, "yes", "yes")
	begin(t, e, desk, "no", "no")
}
