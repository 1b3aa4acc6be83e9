package flow_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestW4_Off: what is not allowed is a fault of a file.
func TestW4_Off(t *testing.T) {
	forbidden := runtimeOf(t)
	for _, text := range []string{"@shell.run(command=\"id\")\n", "@file.read(path=\"x\")\n"} {
		if _, err := forbidden.Load("", text); err == nil || !strings.Contains(err.Error(), "switched off") {
			t.Errorf("%v", err)
		}
	}
}

func runtimeOf(t *testing.T, options ...flow.Option) *flow.Runtime {
	t.Helper()
	r, err := flow.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// started is an engine that runs files.
func started(t *testing.T, db store.Opener, r *flow.Runtime) *perdure.Engine {
	t.Helper()
	eng, err := perdure.Open(t.Context(), db, perdure.Register(r.Definitions()...), perdure.Logger(slog.New(slog.DiscardHandler)))
	if err == nil {
		err = eng.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return eng
}

// TestW4_WhatAProcessMayNotDoWaits for one that may: it neither fails, nor is an attempt
// charged, nor do files of one run land in the directory of another.
func TestW4_WhatAProcessMayNotDoWaits(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	secret := func(string) (string, bool) { return "s3cr3t", true }
	write := "return @file.write(path=\"x.txt\", content=\"abc\")\n"
	for name, c := range map[string]struct {
		text   string
		denied []flow.Option
		why    string
		may    []flow.Option
		header string
		fails  string
	}{
		"shell":         {"return @shell.run(command=\"true\").stdout\n", nil, "--allow-shell", []flow.Option{flow.AllowShell()}, "", ""},
		"files":         {write, nil, "--files DIR", []flow.Option{flow.Files(a)}, "", ""},
		"directory":     {write, []flow.Option{flow.Files(b)}, "--files " + flow.FilesOf(a), []flow.Option{flow.Files(a)}, flow.FilesOf(a), ""},
		"no secrets":    {"@log(message=1)\nx = @http.get(url=secret(\"URL\"))\n", nil, "--secret URL", []flow.Option{flow.Secrets(secret)}, "", "the url \"***\" cannot be used"},
		"other secrets": {"x = @http.get(url=secret(\"URL\"))\n", []flow.Option{flow.Secrets(secret, "KEY")}, "--secret URL", []flow.Option{flow.Secrets(secret, "KEY", "URL")}, "", "the url \"***\" cannot be used"},
		"another run": {write, []flow.Option{flow.Files(b), flow.Only(func(id string) bool { return id == "other" })}, "another file",
			[]flow.Option{flow.Files(a), flow.Only(func(id string) bool { return id == "run" })}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			everything := runtimeOf(t, flow.AllowShell(), flow.Files(a))
			p := program(t, everything, "x.flow", c.text)
			denied, may := runtimeOf(t, c.denied...), runtimeOf(t, c.may...)
			synctest.Test(t, func(t *testing.T) {
				db := memory.New()
				eng := started(t, db, denied)
				var options []perdure.StartOption
				if c.header != "" {
					options = append(options, workflow.Headers(map[string]string{flow.FilesHeader: c.header}))
				}
				if _, err := perdure.Start(t.Context(), eng, flow.Workflow, "run", p, options...); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				d, err := eng.Workflow("run").Describe(t.Context())
				if err != nil || len(d.Pending) != 1 || d.Pending[0].State != view.CallQueued || !strings.Contains(d.Pending[0].Unserved, c.why) {
					t.Errorf("%v, %+v", err, d.Pending)
				}
				if found, err := ops.Doctor(t.Context(), eng, view.DoctorFilter{}); err != nil || len(found.Findings) != 1 || found.Findings[0].Kind != view.FindingUnserved {
					t.Errorf("the doctor finds %+v, %v", found, err)
				}
				if err := eng.Close(); err != nil {
					t.Error(err)
				}
				eng = started(t, db, may)
				_, err = perdure.Attach[json.RawMessage](eng, "run").Result(t.Context())
				if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
					t.Error(err)
				}
				if err := eng.Close(); err != nil {
					t.Error(err)
				}
			})
			if strings.Contains(c.text, "file.write") {
				if _, err := os.Stat(filepath.Join(a, "x.txt")); err != nil {
					t.Error(err)
				}
				if _, err := os.Stat(filepath.Join(b, "x.txt")); err == nil {
					t.Error("it landed in the directory of another run")
				}
			}
		})
	}
}
