package perdure_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// TestI21_NoVerbReachesEntities: workflow IDs of gates, schedules and answers, of which
// one is there, are refused by every verb, and so are names of schedules whose fires would
// have them. What looks like them and is not is free.
func TestI21_NoVerbReachesEntities(t *testing.T) {
	hostile := []string{"#gate/payments", "#gate", "#schedule/nightly", "#schedule/0/nightly", "#answer/5f0c", "#send/1/2", "#later/x"}
	byID := map[string]func(a *arguments, id string){
		"the workflow ID": func(a *arguments, id string) { a.id, a.handle = id, a.engine.Workflow(id) },
		"the new ID":      func(a *arguments, id string) { a.newID = id },
		"the signal ID":   func(a *arguments, id string) { a.key = id },
		"the schedule":    func(a *arguments, id string) { a.name = id },
	}
	takes := map[string][]string{
		"the workflow ID": {
			"Run", "Start", "StartTx", "Handle.Result", "Handle.Cancel", "Handle.Terminate", "Handle.Signal", "Handle.InTx", "Handle.Query",
			"Handle.Update", "Handle.Describe", "Handle.Overview", "Handle.Attempts", "Handle.Calls", "Handle.History", "Handle.Audit", "Handle.Record",
			"ops.Control", "ops.ControlRun", "ops.Cancel", "ops.Terminate", "ops.Fork", "ops.PreviewFork",
		},
		"the new ID":    {"ops.Fork", "ops.PreviewFork"},
		"the signal ID": {"Handle.InTx"},
		"the schedule":  {"Schedule"},
	}
	for what, set := range byID {
		for _, verb := range takes[what] {
			for _, id := range hostile {
				t.Run(what+" of "+verb+" is "+strings.ReplaceAll(id, "/", "|"), func(t *testing.T) {
					a := prepared(t)
					set(&a, id)
					var refused *view.InputError
					if err := verbs[verb](a); !errors.As(err, &refused) || !strings.Contains(err.Error(), "are reserved for gates, schedules and other parts of the engine") {
						t.Errorf("it is not refused: %v", err)
					}
				})
			}
		}
	}
	a := prepared(t)
	for _, id := range []string{"#17", "#", "#/", "#Gate/x", "gate/payments", "a#gate/x", "#gate2/x", " #gate/x"} {
		if _, err := perdure.Start(a.ctx, a.engine, any2any, id, nil); err != nil {
			t.Errorf("%q is refused: %v", id, err)
		}
	}
	all, err := a.engine.List(a.ctx, view.Filter{Status: []string{"#standing"}})
	if refused := (*view.InputError)(nil); !errors.As(err, &refused) {
		t.Errorf("the rows of entities are listed: %+v, %v", all, err)
	}
}
