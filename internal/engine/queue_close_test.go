package engine_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/workflow"
)

// TestE121_ARunThatEndsLeavesNothingInQueues: however it ends, of its attempts that are
// offered or claimed.
func TestE121_ARunThatEndsLeavesNothingInQueues(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Hour)
		nowhere := activity.Declare[int, string]("nowhere", activity.Queue("nowhere"))
		goOn := workflow.NewSignal[string]("go-on")
		flow := workflow.New("flow", func(wf *workflow.Context, how string) (string, error) {
			workflow.Async(wf, x.activity, 1)
			workflow.Async(wf, nowhere, 1)
			said, err := workflow.Receive(wf, goOn)
			switch {
			case err != nil:
				return "", err
			case said == "complete":
				return "done", nil
			case said == "fail":
				return "", errRefused
			}
			return workflow.ContinueAsNew(wf, empty, "")
		})
		e := w.owner(flow, empty)
		w.worker("c", "gpu", 99, x.activity)
		ends := map[string]func(id string){
			"complete": func(id string) { signal(t, e, id, "go-on", "1", "complete") },
			"fail":     func(id string) { signal(t, e, id, "go-on", "1", "fail") },
			"continue": func(id string) { signal(t, e, id, "go-on", "1", "continue") },
			"terminate": func(id string) {
				if err := e.Terminate(t.Context(), id, "", request.By{Why: "enough"}); err != nil {
					t.Error(err)
				}
			},
			"reset": func(id string) {
				if r := reset(t, e, id, core.Control{ID: "r", Call: 2, By: "ann"}); r.Outcome != "applied" {
					t.Errorf("%+v", r)
				}
				pass(time.Second)
				if err := e.Terminate(t.Context(), id, "", request.By{Why: "enough"}); err != nil {
					t.Error(err)
				}
			},
			"elsewhere": func(id string) {
				stop(t, e)
				e = w.owner() // which lacks the code
				pass(time.Second)
				if err := e.Terminate(t.Context(), id, "", request.By{Why: "enough"}); err != nil {
					t.Error(err)
				}
				pass(time.Second)
				stop(t, e)
				e = w.owner(flow, empty)
			},
		}
		for how, end := range ends {
			begin(t, e, flow, how, how)
			pass(time.Second)
			s, err := e.Status(t.Context())
			if err != nil || len(s.Queues) != 2 {
				t.Fatalf("%s: before there is %+v, %v", how, s.Queues, err)
			}
			end(how)
			pass(10 * time.Second)
			if d := describe(t, e, how); d.Status == "running" {
				t.Errorf("%s: it is %s: %s", how, d.Status, d.Reason)
			}
			if s, err = e.Status(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, q := range s.Queues {
				if q.Waiting+q.Running > 0 {
					t.Errorf("%s: in the end there is %+v", how, q)
				}
			}
			if n := w.inInbox(); n != 0 {
				t.Errorf("%s: %d messages are left", how, n)
			}
			if x.now != 0 {
				t.Errorf("%s: %d bodies run", how, x.now)
			}
		}
	})
}

var empty = workflow.New("empty", func(wf *workflow.Context, _ string) (string, error) { return "", nil })
