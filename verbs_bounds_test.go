package perdure_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// attacks are bad arguments, each with what the error says, and the verbs that do not take
// the argument.
var attacks = []struct {
	name  string
	make  func(a *arguments)
	says  string
	verbs func(verb string) bool
}{
	{"a nil context", func(a *arguments) { a.ctx = nil }, "context is nil", func(verb string) bool { return verb != "OpenURL" }},
	{"a nil engine", func(a *arguments) { a.engine, a.handle = nil, perdure.Attach[json.RawMessage](nil, "x") }, "there is no engine", takesEngine},
	{"an empty engine", func(a *arguments) {
		a.engine, a.handle = &perdure.Engine{}, perdure.Attach[json.RawMessage](&perdure.Engine{}, "x")
	}, "there is no engine", takesEngine},
	{"an empty handle", func(a *arguments) { a.handle = perdure.Handle[json.RawMessage]{} }, "the handle is empty", func(verb string) bool { return strings.HasPrefix(verb, "Handle.") }},
	{"a nil option of a start", func(a *arguments) { a.start = []perdure.StartOption{nil} }, "an option is nil; leave it out", oneOf("Run", "Start", "StartTx")},
	{"a nil option of a schedule", func(a *arguments) { a.run = []workflow.RunOption{nil} }, "an option is nil; leave it out", oneOf("Schedule")},
	{"a nil option of an operation", func(a *arguments) { a.option = []ops.Option{nil} }, "an option is nil; leave it out", takesWhy},
	{"an endless reason", func(a *arguments) { a.why = strings.Repeat("x", 6<<20) }, "reason is 6291456 bytes long", func(verb string) bool {
		return takesWhy(verb) || verb == "Handle.Cancel" || verb == "Handle.Terminate"
	}},
	{"an endless name of who asks", func(a *arguments) { a.who = strings.Repeat("x", 6<<20) }, "name of who asks is 6291456 bytes long", takesWhy},
	{"a reason that is no text", func(a *arguments) { a.why = "\xff" }, "reason is not valid UTF-8", takesWhy},
	{"an endless trace parent", func(a *arguments) { a.trace = strings.Repeat("x", 10<<20) }, "trace parent is 10485760 bytes long", oneOf("Run", "Start", "StartTx")},
	{"an endless page", func(a *arguments) { a.limit = math.MaxInt64 }, "limit is 9223372036854775807", oneOf("Engine.List", "ops.FindAttempts", "ops.FindCalls")},
	{"a negative page", func(a *arguments) { a.limit = math.MinInt64 }, "limit is -9223372036854775808", oneOf("Engine.List", "ops.FindAttempts", "ops.FindCalls")},
}

func oneOf(verbs ...string) func(string) bool {
	return func(verb string) bool { return slices.Contains(verbs, verb) }
}

func takesEngine(verb string) bool { return verb != "Open" && verb != "OpenURL" }

// takesWhy reports whether a verb takes ops.By and ops.Why.
func takesWhy(verb string) bool {
	return oneOf("ops.Cancel", "ops.Terminate", "ops.Fork")(verb) || strings.HasPrefix(verb, "ops.Control") ||
		strings.HasPrefix(verb, "ops.Pause") && verb != "ops.PausedActivities" || strings.HasPrefix(verb, "ops.Resume") ||
		oneOf("ops.TriggerSchedule", "ops.BackfillSchedule", "ops.DeleteSchedule")(verb)
}

// TestI22_BadArgumentsAreErrors gives each verb of perdure, ops and handles all bad
// arguments that it takes: the error names the argument, and nothing panics.
func TestI22_BadArgumentsAreErrors(t *testing.T) {
	a := prepared(t)
	for name, verb := range verbs {
		for _, attack := range attacks {
			if !attack.verbs(name) {
				continue
			}
			bad := a
			attack.make(&bad)
			err := func() (err error) {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("%s with %s panics: %v", name, attack.name, p)
						err = errors.New(attack.says)
					}
				}()
				return verb(bad)
			}()
			if err == nil || !strings.Contains(err.Error(), attack.says) {
				t.Errorf("%s with %s: %v", name, attack.name, err)
			}
		}
	}
}

// TestI22_NothingIsRecordedOfBadArguments: what was refused left no trace.
func TestI22_NothingIsRecordedOfBadArguments(t *testing.T) {
	a := prepared(t)
	a.why = strings.Repeat("x", 6<<20)
	for _, name := range []string{"ops.Cancel", "ops.PauseActivity", "ops.PauseSchedule", "Handle.Terminate"} {
		if err := verbs[name](a); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if s, err := ops.DescribeSchedule(a.ctx, a.engine, a.name); err != nil || s.Paused != nil {
		t.Errorf("the schedule is %+v, %v", s, err)
	}
	if all, err := ops.Switches(a.ctx, a.engine); err != nil || len(all) > 0 {
		t.Errorf("the log of switches is %+v, %v", all, err)
	}
}

// TestI22_MethodsWithoutAContext of nothing: they say so, or say nothing.
func TestI22_MethodsWithoutAContext(t *testing.T) {
	var none *perdure.Engine
	if err := none.Close(); err == nil {
		t.Error("nothing can be closed")
	}
	if err := none.Health(); err == nil {
		t.Error("nothing is in good health")
	}
	if got := none.Location(); got != "" {
		t.Errorf("nothing is at %q", got)
	}
	if got := none.Workflow("x").ID(); got != "x" {
		t.Errorf("the handle is that of %q", got)
	}
	if _, err := perdure.Open(t.Context(), memory.New(), nil); err == nil || !strings.Contains(err.Error(), "option is nil") {
		t.Errorf("a nil option of Open: %v", err)
	}
	var h perdure.Handle[int]
	if _, err := workflow.NewQuery[int, int]("q").Ask(context.Background(), h, 1); err == nil {
		t.Error("an empty handle is asked")
	}
	if err := workflow.NewSignal[int]("s").Send(context.Background(), nil, 1); err == nil {
		t.Error("a signal goes nowhere")
	}
	refused := (*view.InputError)(nil)
	var missing context.Context
	_, err := perdure.Open(missing, memory.New())
	if !errors.As(err, &refused) {
		t.Errorf("a nil context of Open: %v", err)
	}
}
