package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/report"
	"github.com/perdure/perdure/bench/internal/workload"
)

// TestMain lets this program be the processes that W7 kills.
func TestMain(m *testing.M) {
	life, err := workload.Given()
	if err == nil && life == nil {
		os.Exit(m.Run())
	}
	if err == nil {
		err = life.Lead(context.Background(), slices.Concat(systems(), libraries()), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// unable names the systems that cannot do a workload; all others must.
var unable = map[string][]string{
	"W1s": {"floor on sqlite", "floor on postgres"},

	"W5": {"floor on sqlite", "floor on postgres", "perdure on memory"},
	"W7": {"perdure on memory"},
	"W9": {"floor on sqlite", "floor on postgres"},

	"growth": {"floor on sqlite", "floor on postgres", "perdure on memory"},
	"pages":  {"floor on sqlite", "floor on postgres", "perdure on memory"},
}

// Each workload checks its own outcome, so that to run them all proves that all
// systems do the work they are measured by.
func TestEveryWorkloadRunsOnEverySystem(t *testing.T) {
	places := newPlaces(t)
	for _, p := range plans(workload.Tiny, 0, 0) {
		for _, s := range p.systems {
			name := fmt.Sprintf("%s on %s", s.Name(), s.Kind())
			t.Run(p.About().Name+" "+name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				samples, err := p.Run(ctx, places, s)
				for _, other := range unable[p.About().Name] {
					if name == other {
						if !errors.Is(err, errors.ErrUnsupported) {
							t.Errorf("got %v, want that it is unsupported", err)
						}
						return
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				check(t, p.Metrics(), samples)
			})
		}
	}
}

// check demands that figures have names that the table knows, and make sense.
func check(t *testing.T, metrics []workload.Metric, samples []workload.Sample) {
	t.Helper()
	if len(samples) == 0 {
		t.Error("there are no samples")
	}
	known := map[string]bool{}
	for _, m := range metrics {
		known[m.Name] = true
	}
	for _, s := range samples {
		if len(s.Values) == 0 {
			t.Errorf("case %q has no values", s.Case)
		}
		for name, v := range s.Values {
			if !known[name] || v < 0 && !strings.HasPrefix(name, "late") {
				t.Errorf("case %q: %s is %v; the metrics are %v", s.Case, name, v, metrics)
			}
		}
	}
}

func newPlaces(t *testing.T) *place.Places {
	t.Helper()
	places, err := place.New(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := places.Close(); err != nil {
			t.Error(err)
		}
	})
	return places
}

// The command as a user sees it: tables on standard output, samples as JSON, and
// the document changed between its markers only.
func TestCommandWritesWhatItMeasured(t *testing.T) {
	dir := t.TempDir()
	samples, document := filepath.Join(dir, "samples.json"), filepath.Join(dir, "performance.md")
	before := "# Title\n<!-- bench:W1 -->\nold\n<!-- /bench:W1 -->\nrest\n<!-- bench:W2 -->\nkept\n<!-- /bench:W2 -->\n"
	if err := os.WriteFile(document, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	cpu, mem := filepath.Join(dir, "cpu"), filepath.Join(dir, "mem")
	var out, errOut bytes.Buffer
	args := []string{"-only", "w1", "-store", "sqlite,memory", "-n", "50", "-repeat", "2", "-o", samples, "-markdown", document, "-cpuprofile", cpu, "-memprofile", mem}
	if err := run(t.Context(), args, &out, &errOut); err != nil {
		t.Fatalf("%v\n%s", err, errOut.String())
	}
	for _, want := range []string{"## W1: Throughput", "| sqlite ", "| memory ", "| floor ", "Medians of 2 rounds"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output lacks %q:\n%s", want, out.String())
		}
	}
	raw, err := os.ReadFile(samples)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Tables) != 1 || len(r.Tables[0].Rows) != 15 || len(r.Tables[0].Rows[0].Samples) != 2 {
		t.Errorf("the JSON is %s", raw)
	}
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); strings.Contains(got, "old") || !strings.Contains(got, "| sqlite ") ||
		!strings.HasPrefix(got, "# Title\n<!-- bench:W1 -->\n") || !strings.HasSuffix(got, "<!-- /bench:W1 -->\nrest\n<!-- bench:W2 -->\nkept\n<!-- /bench:W2 -->\n") {
		t.Errorf("the document became\n%s", got)
	}
	for _, path := range []string{cpu, mem} {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("profile %s: %v", path, err)
		}
	}
}

func TestWhatTheCommandCannotDoItSays(t *testing.T) {
	for args, want := range map[string]string{
		"-only W99":                            "no such workload exists",
		"-store oracle":                        "there are sqlite, postgres and memory",
		"-system River -store sqlite":          "nothing is left to run",
		"-repeat 0":                            "at least 1",
		"W1":                                   "flags only",
		"-dir /dev/shm -only W1 -store sqlite": "in memory",
	} {
		var out, errOut bytes.Buffer
		err := run(t.Context(), strings.Fields(args), &out, &errOut)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("bench %s: %v, want %q", args, err, want)
		}
	}
	var errOut bytes.Buffer
	if err := run(t.Context(), []string{"-help"}, &errOut, &errOut); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-help answers %v", err)
	}
	for _, p := range plans(workload.Full, 0, 0) {
		if !strings.Contains(errOut.String(), p.About().Title) {
			t.Errorf("the usage does not name %s:\n%s", p.About().Title, errOut.String())
		}
	}
}
