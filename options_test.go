package perdure

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/settings"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// engineOptions are all settings of Open, each with a value that is not its default.
var engineOptions = map[string]Option{
	"Register":         Register(workflow.Declare[int, int]("w").Impl(func(*workflow.Context, int) (int, error) { return 0, nil })),
	"Retry":            Retry(retry.Policy{MaxAttempts: 7}),
	"Concurrency":      Concurrency(7),
	"MaxResident":      MaxResident(7),
	"PerKey":           PerKey(7),
	"CheckDeterminism": CheckDeterminism(),
	"TurnTimeout":      TurnTimeout(7),
	"MaxHistory":       MaxHistory(7),
	"MaxPendingCalls":  MaxPendingCalls(7),
	"MaxSignalBacklog": MaxSignalBacklog(7),
	"MaxAbandoned":     MaxAbandoned(7),
	"NodeName":         NodeName("n"),
	"NoMigrate":        NoMigrate(),
	"Build":            Build("b"),
	"Group":            Group("g"),
	"Lease":            Lease(7),
	"Logger":           Logger(slog.Default()),
	"OnPaused":         OnPaused(func(view.PausedCall) {}),
	"Intercept":        Intercept(intercept.New("i", func(ctx context.Context, _ *intercept.Op, next intercept.Next) error { return next(ctx) })),
	"ServeQueue":       ServeQueue("q", 7),
	"Retain":           Retain(view.Retention{Failed: time.Hour}),
}

// startOptions are all settings of a start.
var startOptions = map[string]StartOption{
	"TraceParent":  TraceParent("t"),
	"RetryPolicy":  workflow.RetryPolicy(retry.Policy{}),
	"Delay":        workflow.Delay(7),
	"RunTimeout":   workflow.RunTimeout(7),
	"ChainTimeout": workflow.ChainTimeout(7),
	"Memo":         workflow.Memo("m"),
	"Attributes":   workflow.Attributes(map[string]string{"a": "b"}),
	"Headers":      workflow.Headers(map[string]string{"a": "b"}),
	"Priority":     workflow.Priority(7),
	"Key":          workflow.Key("k"),
	"WeightedKey":  workflow.WeightedKey("k", 7),
	"NewAfter":     NewAfter(AnyEnd),
	"MustBeNew":    MustBeNew(),
	"AnyInput":     AnyInput(),
}

// TestI11_EveryOptionReachesTheEngine: each option of Open and of a start changes what the
// engine is told, and each thing that an engine can be told has one, or is what the caller
// says otherwise, or what only tests say.
func TestI11_EveryOptionReachesTheEngine(t *testing.T) {
	told := map[string]bool{}
	for name, o := range engineOptions {
		var s settings.Engine
		if err := seal.Apply(&s, []Option{o}); err != nil || len(s.Faults) > 0 {
			t.Errorf("%s: %v", name, s.Faults)
		}
		notes(t, name, reflect.ValueOf(s), told)
	}
	judgeSettings(t, "Option", names(engineOptions), reflect.TypeFor[settings.Engine](), told, map[string]string{
		"Store": "an argument of Open", "Faults": "mistakes in options",
		"Activities": "as workflows: of Register", "Observers": "of package telemetry", "Closings": "of package telemetry/tracing", "Watchers": "of package telemetry/tracing",
		"Draw": "of tests", "Around": "of tests", "InboxEvery": "of tests", "ScanAhead": "of tests", "SweepEvery": "of tests", "MaxAtWork": "of tests", "InboxPage": "of tests", "MaxKept": "of tests",
	})
	told = map[string]bool{}
	for name, o := range startOptions {
		settings := seal.StartSettingsOf([]StartOption{o})
		r, err := startRequest("", nil, settings)
		if err != nil || r.Fault != nil {
			t.Errorf("%s: %v, %v", name, err, r.Fault)
		}
		r.Input = history.Payload{}
		notes(t, name, reflect.ValueOf(r), told)
	}
	judgeSettings(t, "StartOption", names(startOptions), reflect.TypeFor[request.Start](), told, map[string]string{
		"WorkflowID": "an argument", "Type": "an argument", "Input": "an argument", "Fault": "what is wrong with an option",
		"ForEnd": "whether it is Run or Start", "within": "whether it is Start or StartTx",
	})
}

// TestE48_TheInputOfAScheduleIsLimited: as that of a run is, in the same words.
func TestE48_TheInputOfAScheduleIsLimited(t *testing.T) {
	e, err := Open(t.Context(), memory.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	flow := workflow.Declare[string, string]("flow")
	long := strings.Repeat("x", 3<<20)
	err = Schedule(t.Context(), e, "s", flow, long, schedule.Spec{Every: time.Hour})
	if err == nil || !strings.Contains(err.Error(), "is 3145730 bytes long when encoded, and 2097152 is the limit") {
		t.Errorf("got %v", err)
	}
	err = Schedule(t.Context(), e, "s", workflow.Declare[json.RawMessage,
		json.RawMessage]("flow"), json.RawMessage(`"`+
		long+`"`), schedule.Spec{Every: time.Hour})
	if err == nil || !strings.Contains(err.Error(), "2097152 is the limit") {
		t.Errorf("got %v", err)
	}
}

// notes the fields that an option has changed.
func notes(t *testing.T, option string, v reflect.Value, told map[string]bool) {
	t.Helper()
	changed := 0
	for _, f := range settingsIn(v.Type()) {
		if !v.FieldByIndex(f.Index).IsZero() {
			told[f.Name] = true
			changed++
		}
	}
	if changed == 0 {
		t.Errorf("%s changes nothing", option)
	}
}

// settingsIn are the fields of a struct and of those embedded in it.
func settingsIn(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.Anonymous })
}

// judgeSettings demands that the options are all there are of their type, and that they
// reach each field that needs no other reason.
func judgeSettings(t *testing.T, kind string, options []string, fields reflect.Type, told map[string]bool, otherwise map[string]string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := []string{kind}
	if kind == "StartOption" { // those of package workflow fit, too
		files = append(files, filepath.Join("workflow", "option.go"))
		kinds = append(kinds, "RunOption", "DelayOption", "RetryOption")
	}
	var declared []string
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Recv != nil || f.Type.Results == nil {
				continue
			}
			if result, is := f.Type.Results.List[0].Type.(*ast.Ident); is && slices.Contains(kinds, result.Name) {
				declared = append(declared, f.Name.Name)
			}
		}
	}
	slices.Sort(declared)
	if !slices.Equal(declared, options) {
		t.Errorf("the package has the options %q, and %q are tried", declared, options)
	}
	for _, f := range settingsIn(fields) {
		if _, excused := otherwise[f.Name]; told[f.Name] == excused {
			t.Errorf("%s: there is an option for it: %t; another reason is known: %t", f.Name, told[f.Name], excused)
		}
	}
}

func names[O any](options map[string]O) (all []string) {
	for name := range options {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// TestI13_NilOptions: an option that is nil is an error where the definition is registered,
// or the engine opened.
func TestI13_NilOptions(t *testing.T) {
	act := activity.New("a", func(context.Context, int) (int, error) { return 0, nil }, nil)
	flow := workflow.New("w", func(*workflow.Context, int) (int, error) { return 0, nil }, nil)
	for want, o := range map[string]Option{
		`activity "a": an option is nil`: Register(act),
		`workflow "w": an option is nil`: Register(flow),
		"perdure.Open: an option is nil": nil,
	} {
		if _, err := Open(t.Context(), memory.New(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
