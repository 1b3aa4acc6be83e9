package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestF26_FlowsOfAnotherInterpreter: runs of flow files that another interpreter began
// would stop with this one. The exit code says so, and the table fits and obeys nothing.
func TestF26_FlowsOfAnotherInterpreter(t *testing.T) {
	t.Chdir(t.TempDir())
	step := activity.New("step "+evil, func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	other := workflow.New(flow.Workflow.Name(), func(wf *workflow.Context, p flow.Program) (json.RawMessage, error) {
		_, err := workflow.Call(wf, step, p.Name+" hunter2")
		return nil, err
	})
	synctest.Test(t, func(t *testing.T) {
		eng, err := perdure.Open(t.Context(), shopFile(), perdure.Register(other, step), perdure.Logger(slog.New(slog.DiscardHandler)))
		if err == nil {
			err = eng.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			p := flow.Program{Name: "wait.flow", Source: "return 1\n"}
			if _, err := perdure.Start(t.Context(), eng, other, fmt.Sprint("run ", i, evil, strings.Repeat("-long", 30)), p); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		check := func(columns int, args ...string) string {
			var out, errs bytes.Buffer
			code := Run(t.Context(), Env{
				Args: append([]string{"check-code", "--db", "shop.db"}, args...), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Now: time.Now,
				Getenv: func(name string) string { return map[string]string{"COLUMNS": fmt.Sprint(columns)}[name] },
			})
			if code != exitAttention || errs.Len() > 0 {
				t.Errorf("the exit code is %d: %s", code, errs.String())
			}
			if strings.ContainsAny(out.String(), "\x1b\x07\u202e\u009b\u2028") || strings.Contains(out.String(), "hunter2") {
				t.Errorf("shown is %q", out.String())
			}
			return out.String()
		}
		for _, columns := range []int{80, 132} {
			text := check(columns, "--limit", "3")
			for _, want := range []string{"5 would stop", "There are 2 more", "parks", "running"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > columns {
					t.Errorf("a line has %d of %d columns:\n%s", n, columns, line)
				}
			}
		}
		text := check(80, "-o", "json")
		var c view.CodeCheck
		if err := json.Unmarshal([]byte(text), &c); err != nil || c.OK || len(c.Findings) != 5 || c.Types[0].Stops != 5 || c.Findings[0].Turn != 1 {
			t.Errorf("the document is %s, %v", text, err)
		}
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestF26_RunsOfThisInterpreterFit, in the midst of them, beside the engine that serves.
func TestF26_RunsOfThisInterpreterFit(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		runtime, err := flow.New()
		if err != nil {
			t.Fatal(err)
		}
		eng, err := perdure.Open(t.Context(), shopFile(), perdure.Register(runtime.Definitions()...), perdure.Logger(slog.New(slog.DiscardHandler)))
		if err == nil {
			err = eng.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		file, err := runtime.Load("wait.flow", "@log(message=\"one\")\nsleep 3600\n@log(message=\"two\")\n")
		if err != nil {
			t.Fatal(err)
		}
		p, err := file.With(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := perdure.Start(t.Context(), eng, flow.Workflow, "waits", p); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if events, err := eng.Workflow("waits").History(t.Context()); err != nil || len(events) < 3 {
			t.Fatalf("it has not come far: %v, %v", events, err)
		}
		var out, errs bytes.Buffer
		code := Run(t.Context(), Env{
			Args: []string{"check-code", "--db", "shop.db"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Now: time.Now,
			Getenv: func(string) string { return "" },
		})
		if want := "1 open run of flow files replayed: none would stop.\n"; code != exitOK || out.String() != want {
			t.Errorf("it says %q and %q, with exit code %d", out.String(), errs.String(), code)
		}
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
}
