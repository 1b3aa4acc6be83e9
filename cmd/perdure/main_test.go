package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"testing"

	"github.com/perdure/perdure/cmd/perdure/internal/cli"
	"github.com/perdure/perdure/cmd/perdure/internal/demo"
)

// asCommand makes the test binary be the command: so the processes that the demo
// starts are the ones under test, with the race detector if that is on.
const asCommand = "PERDURE_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Main())
	}
	if signal.Ignored(os.Interrupt) {
		// As under nohup. The processes that the tests start would ignore it too; they do not
		// if it is caught here.
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	os.Exit(m.Run())
}

// command prepares a call of the command in its own directory.
func command(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1", "PERDURE_DB=", "PERDURE_GROUP=")
	return cmd
}

// run calls the command and returns what it wrote and its exit code.
func run(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t, dir, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// report reads the report of a demo.
func report(t *testing.T, stdout string) demo.Report {
	t.Helper()
	var r demo.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("the report cannot be read: %v\n%s", err, stdout)
	}
	return r
}

// check reads a report and says what is wrong with it.
func check(t *testing.T, stdout string, orders, crashes int) demo.Report {
	t.Helper()
	r := report(t, stdout)
	if len(r.Violations) > 0 {
		t.Errorf("it does not hold:\n%s", strings.Join(r.Violations, "\n"))
	}
	if r.Orders != orders || r.Settled+r.Declined != orders || r.Declined == 0 {
		t.Errorf("%d orders, %d settled, %d declined; want %d in all, and one declined at least", r.Orders, r.Settled, r.Declined, orders)
	}
	if r.Service.Charges != r.Settled {
		t.Errorf("%d charges for %d settled orders", r.Service.Charges, r.Settled)
	}
	if r.Crashes < crashes {
		t.Errorf("the worker was killed %d times; want %d at least", r.Crashes, crashes)
	}
	if r.Steps < r.Settled*4 || r.Attempts < r.Steps || r.Lost == 0 {
		t.Errorf("%d steps, %d attempts, %d of them lost: that cannot be", r.Steps, r.Attempts, r.Lost)
	}
	return r
}

func TestDemoSurvivesKillsAndChargesOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stdout, stderr, code := run(t, dir, "demo", "--orders", "20", "--dir", "d", "-o", "json")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	r := check(t, stdout, 20, 2)
	for _, want := range []string{"kill -9 of the worker", "the worker is started again"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the progress does not say %q:\n%s", want, stderr)
		}
	}

	// What it left can be read, and the engine's view is the same.
	stdout, stderr, code = run(t, dir, "list", "--db", r.Database, "--status", "completed", "-o", "jsonl")
	if got := strings.Count(stdout, "\n"); code != 0 || got != 20 {
		t.Errorf("list: exit code %d, %d runs\n%s", code, got, stderr)
	}
	stdout, _, _ = run(t, dir, "attempts", r.Longest, "--db", r.Database, "-o", "json")
	var attempts []struct{ Attempt int }
	if err := json.Unmarshal([]byte(stdout), &attempts); err != nil || len(attempts) < r.Most {
		t.Errorf("attempts of %s: %v, %d of them; want %d at least", r.Longest, err, len(attempts), r.Most)
	}

	// Finished is finished: the same report again, without any work.
	stdout, stderr, code = run(t, dir, "demo", "--orders", "20", "--dir", "d", "-o", "json")
	again := check(t, stdout, 20, 2)
	if code != 0 || !strings.Contains(stderr, "finished already") || again.Service.Requests != r.Service.Requests {
		t.Errorf("a finished demo: exit code %d\n%s", code, stderr)
	}
}

func TestDemoGoesOnAfterAnInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send an interrupt to another one here")
	}
	t.Parallel()
	dir := t.TempDir()
	interrupt(t, command(t, dir, "demo", "--orders", "24"))

	_, stderr, code := run(t, dir, "demo")
	if code != 1 || !strings.Contains(stderr, "begun with 24 orders") {
		t.Errorf("other orders: exit code %d\n%s", code, stderr)
	}
	stdout, stderr, code := run(t, dir, "demo", "--orders", "24", "-o", "json")
	if code != 0 || !strings.Contains(stderr, "continues where it was stopped") {
		t.Errorf("the second start: exit code %d\n%s", code, stderr)
	}
	check(t, stdout, 24, 2)
}

// interrupt runs a demo until it has killed a worker, when there is something to
// interrupt, and interrupts it.
func interrupt(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "kill -9 of") {
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code is looked at
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("an interrupted demo ends with exit code %d\n%s", code, rest)
	}
	if !strings.Contains(string(rest), "The same command continues from here") {
		t.Errorf("an interrupted demo does not say how to go on:\n%s", rest)
	}
}

func TestF2_AReaderThatHasSeenEnoughIsNoError(t *testing.T) {
	dir := t.TempDir()
	cmd := command(t, dir, "--help")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	cmd.Stdout = writer
	err = cmd.Run()
	writer.Close()
	if err != nil || stderr.Len() > 0 {
		t.Errorf("%v\n%s", err, stderr.String())
	}
}

func TestWorkersOfTheDemoEndWithIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := command(t, dir, "demo", "--orders", "20", "--kills", "0", "--dir", "d")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "in flight") {
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	// The new start gets the database as soon as the orphan has noticed that it is
	// one.
	stdout, stderr, code := run(t, dir, "demo", "--orders", "20", "--kills", "0", "--dir", "d", "-o", "json")
	var r demo.Report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != 0 || !r.True() || r.Settled+r.Declined != 20 {
		t.Errorf("%v, exit code %d\n%s\n%s", err, code, stdout, stderr)
	}
}
