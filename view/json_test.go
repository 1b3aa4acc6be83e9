package view_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
)

// shown are the types that are written as JSON and have times or durations somewhere. The
// test finds out if one is missing.
var shown = []any{
	view.Attempt{}, view.FoundAttempt{}, view.CallAttempts{}, view.Gate{}, view.Schedule{}, view.ActivityStats{}, view.HourStats{}, view.WorkflowStats{}, view.TrialNumbers{}, view.TrialLoad{},
}

// TestF14_DurationsAreTextAndComeBack: each view with a duration writes it as
// time.ParseDuration reads it, and reads it.
func TestF14_DurationsAreTextAndComeBack(t *testing.T) {
	known := map[string]bool{}
	for _, v := range shown {
		typ := reflect.TypeOf(v)
		known[typ.Name()] = true
		into := reflect.New(typ)
		fill(into.Elem(), 0)
		text, err := json.Marshal(into.Interface())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "5400000000000") || !strings.Contains(string(text), `"1h30m0s"`) || strings.Contains(string(text), "_ns\"") {
			t.Errorf("%s is written as %s", typ, text)
		}
		back := reflect.New(typ)
		if err := json.Unmarshal(text, back.Interface()); err != nil {
			t.Errorf("%s cannot be read: %v\n%s", typ, err, text)
		} else if again, _ := json.Marshal(back.Interface()); string(again) != string(text) {
			t.Errorf("%s came back as\n%s\nand was\n%s", typ, again, text)
		}
		if empty, err := json.Marshal(reflect.New(typ).Interface()); err != nil {
			t.Errorf("%s without values is %s, %v", typ, empty, err)
		}
	}
	for name := range withDurations(t) {
		if !known[name] && name != "Retention" { // which is an argument
			t.Errorf("view.%s has a duration and is not in the table of this test", name)
		}
	}
}

// fill sets all times, durations, texts and numbers.
func fill(v reflect.Value, depth int) {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		v.SetInt(int64(90 * time.Minute))
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 11, 23, 4, 5, 6, 7000000, time.UTC)))
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.CanInt():
		v.SetInt(3)
	case v.Kind() == reflect.Pointer && v.Type().Elem() == reflect.TypeFor[time.Time]():
		at := time.Date(2026, 11, 23, 4, 5, 6, 7000000, time.UTC)
		v.Set(reflect.ValueOf(&at))
	case v.Kind() == reflect.Struct && strings.HasSuffix(v.Type().PkgPath(), "/view") && depth < 3:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	}
}

// withDurations are the structs of package view that have a duration as a field.
func withDurations(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok && spec.Name.IsExported() {
				for _, f := range s.Fields.List {
					if sel, ok := f.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Duration" {
						found[spec.Name.Name] = true
					}
				}
			}
			return true
		})
	}
	if len(found) < 5 {
		t.Fatalf("only %v are found", found)
	}
	return found
}

// TestF14_ForeverIsAWord that a policy takes, where it is the longest duration that there is.
func TestF14_ForeverIsAWord(t *testing.T) {
	policy, err := retry.Parse("[retry: 2, backoff: forever] [within: forever]")
	if err != nil {
		t.Fatal(err)
	}
	explained, err := retry.Explain(policy, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{view.ExplainPolicy(explained), view.Attempt{Delay: retry.Forever}} {
		text, err := json.Marshal(v)
		if err != nil || strings.Contains(string(text), "2562047h") || !strings.Contains(string(text), `"forever"`) {
			t.Errorf("%s, %v", text, err)
		}
	}
	var back view.Attempt
	if err := json.Unmarshal([]byte(`{"delay": "forever"}`), &back); err != nil || back.Delay != retry.Forever {
		t.Errorf("read as %s, %v", back.Delay, err)
	}
}
