package perdure_test

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// arguments are what verbs are given. Those of a test are good but for what it changes.
type arguments struct {
	ctx             context.Context
	engine          *perdure.Engine
	handle          perdure.Handle[json.RawMessage]
	id              string // of a workflow
	newID           string // of a fork
	name            string // of a signal, a gate, a schedule ...
	key             string // of a signal
	who, why, trace string
	limit           int
	start           []perdure.StartOption
	run             []workflow.RunOption
	option          []ops.Option
}

var any2any = workflow.Declare[json.RawMessage, json.RawMessage]("any")

// inTx does what a verb does inside of a transaction, of which memory has none: it comes to
// the verb's own refusals, and ends with perdure.ErrTx.
const inTx = "no transaction"

// verbs are all exported functions and methods that take a context, by their names.
var verbs = map[string]func(a arguments) error{
	"Run": func(a arguments) error {
		ctx, cancel := a.ctx, func() {}
		if ctx != nil {
			ctx, cancel = context.WithTimeout(ctx, unserved)
		}
		defer cancel()
		_, err := perdure.Run(ctx, a.engine, any2any, a.id, nil, append(a.start, perdure.TraceParent(a.trace))...)
		return err
	},
	"Start": func(a arguments) error {
		_, err := perdure.Start(a.ctx, a.engine, any2any, a.id, nil, append(a.start, perdure.TraceParent(a.trace))...)
		return err
	},
	"StartTx": func(a arguments) error {
		_, err := perdure.StartTx(a.ctx, a.engine, inTx, any2any, a.id, nil, append(a.start, perdure.TraceParent(a.trace))...)
		return err
	},
	"Schedule": func(a arguments) error {
		return perdure.Schedule(a.ctx, a.engine, a.name, any2any, nil, schedule.Spec{Every: time.Hour}, a.run...)
	},
	"Transact": func(a arguments) error {
		return perdure.Transact(a.ctx, a.engine, func(context.Context, string) error { return nil })
	},
	"Open": func(a arguments) error { _, err := perdure.Open(a.ctx, memory.New()); return err },
	"OpenURL": func(a arguments) error {
		_, err := perdure.OpenURL(a.ctx, "")
		return err
	},
	"Engine.Start": func(a arguments) error { return a.engine.Start(a.ctx) },
	"Engine.Stop": func(a arguments) error {
		if a.engine == nil || *a.engine == (perdure.Engine{}) || a.ctx == nil {
			return a.engine.Stop(a.ctx)
		}
		return nil // it is of use to other verbs
	},
	"Engine.List":             func(a arguments) error { _, err := a.engine.List(a.ctx, view.Filter{Limit: a.limit}); return err },
	"Engine.Complete":         func(a arguments) error { return a.engine.Complete(a.ctx, "token", 1) },
	"Engine.FailAttempt":      func(a arguments) error { return a.engine.FailAttempt(a.ctx, "token", context.Canceled) },
	"Engine.HeartbeatAttempt": func(a arguments) error { return a.engine.HeartbeatAttempt(a.ctx, "token", 1) },
	"Handle.Result": func(a arguments) error {
		ctx, cancel := a.ctx, func() {}
		if ctx != nil {
			ctx, cancel = context.WithTimeout(ctx, unserved)
		}
		defer cancel()
		_, err := a.handle.Result(ctx)
		return err
	},
	"Handle.Cancel":    func(a arguments) error { return a.handle.Cancel(a.ctx, a.why) },
	"Handle.Terminate": func(a arguments) error { return a.handle.Terminate(a.ctx, a.why) },
	"Handle.Signal":    func(a arguments) error { return a.handle.Signal(a.ctx, a.name, 1) },
	"Handle.InTx": func(a arguments) error {
		return workflow.NewSignal[int](a.name).SendOnce(a.ctx, a.handle.InTx(inTx), a.key, 1)
	},
	"Handle.Query": func(a arguments) error {
		ctx, cancel := a.ctx, func() {}
		if ctx != nil {
			ctx, cancel = context.WithTimeout(ctx, unserved)
		}
		defer cancel()
		_, err := a.handle.Query(ctx, a.name, 1)
		return err
	},
	"Handle.Update": func(a arguments) error {
		ctx, cancel := a.ctx, func() {}
		if ctx != nil {
			ctx, cancel = context.WithTimeout(ctx, unserved)
		}
		defer cancel()
		_, err := a.handle.Update(ctx, a.name, 1)
		return err
	},
	"Handle.Describe": func(a arguments) error { _, err := a.handle.Describe(a.ctx); return err },
	"Handle.Overview": func(a arguments) error { _, err := a.handle.Overview(a.ctx); return err },
	"Handle.Attempts": func(a arguments) error { _, err := a.handle.Attempts(a.ctx); return err },
	"Handle.Calls":    func(a arguments) error { _, err := a.handle.Calls(a.ctx); return err },
	"Handle.AttemptsRange": func(a arguments) error {
		_, err := a.handle.AttemptsRange(a.ctx, view.AttemptRange{Limit: 1})
		return err
	},
	"Handle.CallsRange": func(a arguments) error {
		_, err := a.handle.CallsRange(a.ctx, view.CallRange{Limit: 1})
		return err
	},
	"Handle.History": func(a arguments) error { _, err := a.handle.History(a.ctx); return err },
	"Handle.HistoryRange": func(a arguments) error {
		_, err := a.handle.HistoryRange(a.ctx, view.HistoryRange{Limit: 1})
		return err
	},
	"Handle.Audit":  func(a arguments) error { _, err := a.handle.Audit(a.ctx); return err },
	"Handle.Record": func(a arguments) error { _, err := a.handle.Record(a.ctx); return err },

	"ops.PauseActivity": func(a arguments) error {
		_, err := ops.PauseActivity(a.ctx, a.engine, a.name, a.control()...)
		return err
	},
	"ops.ResumeActivity": func(a arguments) error {
		_, err := ops.ResumeActivity(a.ctx, a.engine, a.name, a.control()...)
		return err
	},
	"ops.SetCanary": func(a arguments) error {
		_, err := ops.SetCanary(a.ctx, a.engine, a.name, 10, a.control()...)
		return err
	},
	"ops.EndCanary":        func(a arguments) error { _, err := ops.EndCanary(a.ctx, a.engine, a.control()...); return err },
	"ops.Canary":           func(a arguments) error { _, err := ops.Canary(a.ctx, a.engine); return err },
	"ops.PausedActivities": func(a arguments) error { _, err := ops.PausedActivities(a.ctx, a.engine); return err },
	"ops.Search": func(a arguments) error {
		_, err := ops.Search(a.ctx, a.engine, view.Filter{Limit: a.limit})
		return err
	},
	"ops.Unregistered": func(a arguments) error {
		_, err := ops.Unregistered(a.ctx, a.engine, "activity", a.name)
		return err
	},
	"ops.Switches": func(a arguments) error { _, err := ops.Switches(a.ctx, a.engine); return err },
	"ops.Control": func(a arguments) error {
		ctx, cancel := a.ctx, func() {}
		if ctx != nil {
			ctx, cancel = context.WithTimeout(ctx, unserved)
		}
		defer cancel()
		_, err := ops.Control(ctx, a.engine, a.id, view.CallFilter{Name: a.name}, ops.RetryNow(), a.control()...)
		return err
	},
	"ops.ControlAll": func(a arguments) error {
		_, err := ops.ControlAll(a.ctx, a.engine, view.Filter{IDPrefix: "none"}, view.CallFilter{Name: a.name}, ops.RetryNow(), a.control()...)
		return err
	},
	"ops.ControlRun": func(a arguments) error {
		ctx, cancel := a.ctx, func() {}
		if ctx != nil {
			ctx, cancel = context.WithTimeout(ctx, unserved)
		}
		defer cancel()
		_, err := ops.ControlRun(ctx, a.engine, a.id, ops.CancelRun(), a.control()...)
		return err
	},
	"ops.ControlRuns": func(a arguments) error {
		_, err := ops.ControlRuns(a.ctx, a.engine, view.Filter{IDPrefix: "none"}, ops.SignalRun(a.name, 1), a.control()...)
		return err
	},
	"ops.Cancel":    func(a arguments) error { return ops.Cancel(a.ctx, a.engine, a.id, a.options()...) },
	"ops.Terminate": func(a arguments) error { return ops.Terminate(a.ctx, a.engine, a.id, a.options()...) },
	"ops.Nodes":     func(a arguments) error { _, err := ops.Nodes(a.ctx, a.engine); return err },
	"ops.Status":    func(a arguments) error { _, err := ops.Status(a.ctx, a.engine); return err },
	"ops.Counts":    func(a arguments) error { _, err := ops.Counts(a.ctx, a.engine, 0); return err },
	"ops.Doctor": func(a arguments) error {
		_, err := ops.Doctor(a.ctx, a.engine, view.DoctorFilter{Limit: a.limit})
		return err
	},
	"ops.AttemptOf": func(a arguments) error { _, err := ops.AttemptOf(a.ctx, a.engine, "token"); return err },
	"ops.Audit": func(a arguments) error {
		_, err := ops.Audit(a.ctx, a.engine, view.AuditFilter{Limit: a.limit})
		return err
	},
	"ops.Sweep": func(a arguments) error {
		_, err := ops.Sweep(a.ctx, a.engine, view.Retention{Completed: time.Hour})
		return err
	},
	"ops.PreviewSweep": func(a arguments) error {
		_, err := ops.PreviewSweep(a.ctx, a.engine, view.Retention{Completed: time.Hour})
		return err
	},
	"ops.Fork": func(a arguments) error {
		_, err := ops.Fork(a.ctx, a.engine, ops.ForkSpec{WorkflowID: a.id, NewID: a.newID, Call: 1}, a.options()...)
		return err
	},
	"ops.PreviewFork": func(a arguments) error {
		_, err := ops.PreviewFork(a.ctx, a.engine, ops.ForkSpec{WorkflowID: a.id, NewID: a.newID, Call: 1})
		return err
	},
	"ops.Gates": func(a arguments) error { _, err := ops.Gates(a.ctx, a.engine); return err },
	"ops.EditGate": func(a arguments) error {
		_, err := ops.EditGate(a.ctx, a.engine, a.name, view.GateEdit{Limit: 3}, a.control()...)
		return err
	},
	"ops.ProbeGate": func(a arguments) error {
		_, err := ops.ProbeGate(a.ctx, a.engine, a.name, a.control()...)
		return err
	},
	"ops.ProbeGateKey": func(a arguments) error {
		_, err := ops.ProbeGateKey(a.ctx, a.engine, a.name, a.key, a.control()...)
		return err
	},
	"ops.ResetGate": func(a arguments) error {
		_, err := ops.ResetGate(a.ctx, a.engine, a.name, view.GateReset{Breaker: true}, a.control()...)
		return err
	},
	"ops.PauseGate":    func(a arguments) error { return ops.PauseGate(a.ctx, a.engine, a.name, a.control()...) },
	"ops.ResumeGate":   func(a arguments) error { return ops.ResumeGate(a.ctx, a.engine, a.name, a.control()...) },
	"ops.FindAttempts": func(a arguments) error { _, _, err := ops.FindAttempts(a.ctx, a.engine, a.found()); return err },
	"ops.FindCalls":    func(a arguments) error { _, _, err := ops.FindCalls(a.ctx, a.engine, a.found()); return err },
	"ops.ActivityStats": func(a arguments) error {
		_, err := ops.ActivityStats(a.ctx, a.engine, time.Time{}, time.Time{})
		return err
	},
	"ops.WorkflowStats": func(a arguments) error {
		_, err := ops.WorkflowStats(a.ctx, a.engine, time.Time{})
		return err
	},
	"ops.HourStats": func(a arguments) error {
		_, err := ops.HourStats(a.ctx, a.engine, view.HourFilter{Activity: a.name, Since: time.Now().Add(-time.Hour), Until: time.Now()})
		return err
	},
	"ops.ErrorStats": func(a arguments) error { _, err := ops.ErrorStats(a.ctx, a.engine, a.found()); return err },
	"ops.CheckCode":  func(a arguments) error { _, err := ops.CheckCode(a.ctx, a.engine, view.CodeFilter{}); return err },
	"ops.TryPolicy": func(a arguments) error {
		_, err := ops.TryPolicy(a.ctx, a.engine, retry.Policy{}, view.TrialFilter{})
		return err
	},
	"ops.Schedules": func(a arguments) error { _, err := ops.Schedules(a.ctx, a.engine); return err },
	"ops.DescribeSchedule": func(a arguments) error {
		_, err := ops.DescribeSchedule(a.ctx, a.engine, a.name)
		return err
	},
	"ops.SetSchedule": func(a arguments) error {
		return ops.SetSchedule(a.ctx, a.engine, a.name, ops.ScheduleSetting{Workflow: "any", Spec: schedule.Spec{Every: time.Hour}, Options: a.run}, a.control()...)
	},
	"ops.PauseSchedule":  func(a arguments) error { return ops.PauseSchedule(a.ctx, a.engine, a.name, a.control()...) },
	"ops.ResumeSchedule": func(a arguments) error { return ops.ResumeSchedule(a.ctx, a.engine, a.name, a.control()...) },
	"ops.TriggerSchedule": func(a arguments) error {
		_, err := ops.TriggerSchedule(a.ctx, a.engine, a.name, "", a.control()...)
		return err
	},
	"ops.BackfillSchedule": func(a arguments) error {
		_, err := ops.BackfillSchedule(a.ctx, a.engine, a.name, time.Now().Add(-2*time.Hour), time.Now().Add(-time.Minute), "", a.control()...)
		return err
	},
	"ops.DeleteSchedule": func(a arguments) error { return ops.DeleteSchedule(a.ctx, a.engine, a.name, a.control()...) },
}

func (a arguments) options() []ops.Option { return append(a.option, ops.By(a.who), ops.Why(a.why)) }

func (a arguments) control() (all []ops.ControlOption) {
	for _, o := range a.options() {
		all = append(all, o)
	}
	return all
}

func (a arguments) found() view.AttemptFilter { return view.AttemptFilter{Limit: a.limit} }

// unserved is how long an operation waits for an engine that nobody has started, once it was not
// refused: long enough to be refused on a busy machine.
const unserved = 20 * time.Millisecond

// prepared returns good arguments: there are a workflow, a schedule and an engine.
func prepared(t *testing.T) arguments {
	t.Helper()
	e, err := perdure.Open(t.Context(), memory.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	a := arguments{ctx: t.Context(), engine: e, id: "order-17", newID: "order-18", name: "nightly", key: "once", who: "ann", why: "as agreed"}
	if a.handle, err = perdure.Start(a.ctx, e, any2any, a.id, nil); err != nil {
		t.Fatal(err)
	}
	if err := perdure.Schedule(a.ctx, e, a.name, any2any, nil, schedule.Spec{Every: time.Hour}); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestVerbsAreAll: the table has every exported verb.
func TestVerbsAreAll(t *testing.T) {
	for dir, prefix := range map[string]string{".": "", "ops": "ops."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				if f, is := d.(*ast.FuncDecl); is && f.Name.IsExported() && takesContext(f) {
					if name := prefix + receiver(f) + f.Name.Name; verbs[name] == nil {
						t.Errorf("the table of verbs lacks %s", name)
					}
				}
			}
		}
	}
}

func takesContext(f *ast.FuncDecl) bool {
	for _, p := range f.Type.Params.List {
		if s, is := p.Type.(*ast.SelectorExpr); is && s.Sel.Name == "Context" {
			return true
		}
	}
	return false
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	switch x := f.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		return x.X.(*ast.Ident).Name + "."
	case *ast.IndexExpr:
		return x.X.(*ast.Ident).Name + "."
	}
	return ""
}
