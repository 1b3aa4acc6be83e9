package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestStepsAreChosenByNameAndKeepTheirOrder(t *testing.T) {
	steps, err := choose(allSteps(options{}), "vet, format")
	if err != nil {
		t.Fatal(err)
	}
	if len(steps) != 2 || steps[0].name != "format" || steps[1].name != "vet" {
		t.Errorf("chose %v; want format before vet", steps)
	}
	if _, err := choose(allSteps(options{}), "format,polish"); err == nil || !strings.Contains(err.Error(), `"polish"`) {
		t.Errorf("an unknown step gives %v; want an error that names it", err)
	}
}

func TestTheQuickFormIsPartOfTheWhole(t *testing.T) {
	var names []string
	for _, s := range quickSteps(options{}) {
		names = append(names, s.name)
	}
	if want := []string{"format", "docs", "build", "vet", "short"}; !slices.Equal(names, want) {
		t.Errorf("the quick form runs %v; want %v", names, want)
	}
}

func TestUsageErrorsExitWithTwo(t *testing.T) {
	for _, args := range [][]string{{"-only", "polish"}, {"-fuzztime", "0s"}, {"./..."}, {"-nonsense"}} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), args, &out, &errOut); code != 2 {
			t.Errorf("%q exits with %d; want 2", args, code)
		}
		if errOut.Len() == 0 {
			t.Errorf("%q does not say what is wrong", args)
		}
	}
}

func TestFailureEndsTheRunAndSaysHowToRepeatIt(t *testing.T) {
	var ran []string
	make := func(name string, err error) step {
		return step{name: name, what: "proves " + name, run: func(context.Context, *shell) error {
			ran = append(ran, name)
			return err
		}}
	}
	broken := &commandError{line: "go vet ./...", output: "x.go:1: bad\n", cause: errors.New("exit status 1")}
	steps := []step{make("a", nil), make("b", broken), make("c", nil)}

	var out bytes.Buffer
	if code := runSteps(t.Context(), &shell{out: &out}, steps, false); code != 1 {
		t.Errorf("exit code %d; want 1", code)
	}
	if !slices.Equal(ran, []string{"a", "b"}) {
		t.Errorf("ran %v; want a and b only", ran)
	}
	for _, want := range []string{"ok    a", "FAIL  b", "x.go:1: bad", "Again: go vet ./...\n", "-only b", "FAILED after", "2 of 3 steps"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}

	ran = nil
	if code := runSteps(t.Context(), &shell{out: &out}, steps, true); code != 1 || len(ran) != 3 {
		t.Errorf("with -k: exit code %d after %v; want 1 after all three", code, ran)
	}
}

func TestAStepBesideAnotherBeginsWithItAndIsReportedInItsTurn(t *testing.T) {
	begun, alsoBegun := make(chan struct{}), make(chan struct{})
	steps := []step{
		{name: "a", run: func(_ context.Context, sh *shell) error {
			<-begun // or the test hangs
			<-alsoBegun
			fmt.Fprintln(sh.out, "a says")
			return nil
		}},
		{name: "b", streams: true, beside: true, run: func(_ context.Context, sh *shell) error {
			fmt.Fprintln(sh.out, "b says")
			sh.notice("b notes")
			close(begun)
			return nil
		}},
		{name: "c", beside: true, run: func(_ context.Context, sh *shell) error {
			close(alsoBegun)
			return nil
		}},
		{name: "d", run: func(_ context.Context, sh *shell) error { return nil }},
	}
	var out bytes.Buffer
	if code := runSteps(t.Context(), &shell{out: &out}, steps, false); code != 0 {
		t.Errorf("exit code %d; want 0", code)
	}
	rest := out.String()
	for _, want := range []string{"a says\n", "ok    a", "----  b", "b says\n", "ok    b", "ok    c", "ok    d", "note  b notes\n", "All 4 steps"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("the report lacks %q, or has it elsewhere:\n%s", want, out.String())
		}
		rest = after
	}
}

func TestAStepBesideAFailedOneIsCalledOff(t *testing.T) {
	steps := []step{
		{name: "a", run: func(context.Context, *shell) error { return errors.New("broken") }},
		{name: "b", beside: true, run: func(ctx context.Context, _ *shell) error {
			<-ctx.Done() // or the test hangs
			return ctx.Err()
		}},
	}
	var out bytes.Buffer
	if code := runSteps(t.Context(), &shell{out: &out}, steps, false); code != 1 || !strings.Contains(out.String(), "1 of 2 steps") {
		t.Errorf("exit code %d; want 1 after one step:\n%s", code, out.String())
	}
}

func TestCommandIsShownAsOneWouldTypeIt(t *testing.T) {
	c := cmd("CGO_ENABLED=0", "GOOS=windows", "go", "test", "-run", "^$", "-x=y")
	if got, want := c.String(), `CGO_ENABLED=0 GOOS=windows go test -run '^$' -x=y`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if !slices.Equal(c.env, []string{"CGO_ENABLED=0", "GOOS=windows"}) {
		t.Errorf("environment %v", c.env)
	}
}

func TestFuzzTargetsAreReadFromTheList(t *testing.T) {
	listed := "FuzzA\nFuzzB\nok  \texample.com/x\t0.01s\n?   \texample.com/y\t[no test files]\nok  \texample.com/z\t0.01s\nFuzzC\nok  \texample.com/w\t(cached)\n"
	want := []target{{"example.com/x", "FuzzA"}, {"example.com/x", "FuzzB"}, {"example.com/w", "FuzzC"}}
	if got := fuzzTargets(listed); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestFuzzTimeIsShared(t *testing.T) {
	f := fuzzer{each: 5 * time.Second, total: time.Minute}
	for n, want := range map[int]time.Duration{1: 5 * time.Second, 12: 5 * time.Second, 24: 2500 * time.Millisecond, 600: time.Second} {
		if got := f.share(n); got != want {
			t.Errorf("%d targets get %s each; want %s", n, got, want)
		}
	}
}

func TestEndOfAFuzzRoundIsToldFromAFinding(t *testing.T) {
	tests := map[string]bool{
		"--- FAIL: FuzzA (5.01s)\n    context deadline exceeded\nFAIL\n":                                                     true,
		"--- FAIL: FuzzA (0.01s)\n    --- FAIL: FuzzA (0.00s)\n    Failing input written to testdata/fuzz/FuzzA/1\nFAIL\n":   false,
		"--- FAIL: FuzzA (0.01s)\n    a_test.go:4: context deadline exceeded while reading\nFAIL\n":                          false,
		"--- FAIL: FuzzA (0.01s)\n    context deadline exceeded\n    Failing input written to testdata/fuzz/FuzzA/1\nFAIL\n": false,
		"# example.com/x [example.com/x.test]\nx.go:1: bad\nFAIL\texample.com/x [build failed]\n":                            false,
	}
	for output, want := range tests {
		if got := roundEnded(output); got != want {
			t.Errorf("got %v, want %v for\n%s", got, want, output)
		}
	}
}

func TestDocumentLinks(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("README.md", strings.Join([]string{
		"# Title",                            // 1
		"[good](docs/a.md) [bad](docs/b.md)", // 2
		"[anchor](docs/a.md#the-house) [x](docs/a.md#y)",     // 3
		"[site](https://example.com/none) `[code](none.md)`", // 4
		"```",
		"[fenced](none.md)", // 6
		"```",
		"![image](pic.png \"a title\") [self](#title)", // 8
		"[ref]: docs/none.md",                          // 9
		"[dir](docs) [out](../up.md)",                  // 10
	}, "\n"))
	write("docs/a.md", "## The *house*!\n[back](../README.md)\n")

	err := checkDocs(t.Context(), &shell{root: root, out: &bytes.Buffer{}})
	if err == nil {
		t.Fatal("no broken link was found")
	}
	var lines []string
	for fault := range strings.SplitSeq(err.Error(), "\n") {
		place, _, _ := strings.Cut(fault, ": ")
		lines = append(lines, place)
	}
	want := []string{"README.md:2", "README.md:3", "README.md:8", "README.md:9", "README.md:10"}
	if !slices.Equal(lines, want) {
		t.Errorf("faults at %v\nwant      %v\n%v", lines, want, err)
	}
}

func TestAnchorsOfHeadings(t *testing.T) {
	got := headings("# One\n## Two words, here\n## One\n#no\n```\n# code\n```\n### `go run` & more\n")
	for _, want := range []string{"one", "two-words-here", "one-1", "go-run--more"} {
		if !got[want] {
			t.Errorf("no anchor %q in %v", want, got)
		}
	}
	if len(got) != 4 {
		t.Errorf("anchors %v; want 4", got)
	}
}

func TestOnlyAFaultOfTheDetectorIsTriedAgain(t *testing.T) {
	const check = "ThreadSanitizer: CHECK failed: tsan_rtl.cpp:346 ...\n"
	for _, c := range []struct {
		output string
		want   []string
	}{
		{"ok  \ta\t1s\n" + check + "FAIL\tb\t68.5s\nok  \tc\t1s\nFAIL\n", []string{"b"}},
		{check + "FAIL\tb\t1s\n" + check + "FAIL\tc\t1s\nFAIL\n", []string{"b", "c"}},
		{"SIGSEGV: segmentation violation\nPC=0x41ca09 m=4 sigcode=1 addr=0x0\n\ngoroutine 0\nFAIL\tb\t1s\nFAIL\n", []string{"b"}},
		{"panic: runtime error: invalid memory address\n[signal SIGSEGV: segmentation violation code=0x1]\nFAIL\tb\t1s\n", nil},
		{check + "FAIL\tb\t1s\nFAIL\tc\t1s\nFAIL\n", nil},
		{"--- FAIL: TestX (0.0s)\n" + check + "FAIL\tb\t1s\nFAIL\n", nil},
		{"WARNING: DATA RACE\n" + check + "FAIL\tb\t1s\nFAIL\n", nil},
		{"FAIL\tb [build failed]\nFAIL\n", nil},
		{"ok  \ta\t1s\n", nil},
	} {
		if got := detectorBroke(c.output); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.output, got, c.want)
		}
	}
}

func TestPackagesWithoutAnother(t *testing.T) {
	listed := "a fmt\na.test a fmt os\na [a.test] fmt\nb other\nb.test b other\nc fmt\nc.test c other\nc_test [c.test] other\nd\n"
	if wholly, code := packagesWithout("other", listed); !slices.Equal(wholly, []string{"a", "d"}) || !slices.Equal(code, []string{"c"}) {
		t.Errorf("wholly %v, their code %v", wholly, code)
	}
}

func TestWithoutCitusTheCheckSaysWhy(t *testing.T) {
	const skipped = "=== RUN   TestE144_X\n    x_test.go:7: Citus is not here: there is no citus.so\n--- SKIP: TestE144_X (0.1s)\nPASS\n"
	if got := withoutCitus(skipped); got != "there is no citus.so" {
		t.Errorf("got %q", got)
	}
	if got := withoutCitus("=== RUN   TestE144_X\n--- PASS: TestE144_X (9.1s)\nPASS\n"); got != "" {
		t.Errorf("got %q", got)
	}
}
