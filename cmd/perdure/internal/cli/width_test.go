package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestF14_TablesFit: no row of a table is wider than the terminal, whatever is in it.
func TestF14_TablesFit(t *testing.T) {
	t.Chdir(t.TempDir())
	long := strings.Repeat("customer-4711-", 15)[:200]
	fault := errors.New(strings.Repeat("the answer of the gateway cannot be read; ", 250))
	door := gate.New("gate-"+long[:90], 1, gate.WithMode(gate.Hold))
	wait := activity.New("wait-"+long[:90], func(context.Context, string) (string, error) { return "", fault }, activity.Retry(slow), activity.Through(door))
	end := activity.New("end", func(context.Context, string) (string, error) { return "", fault }, activity.Retry(retry.Never))
	waits := workflow.New("waits-"+long[:90], func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, wait, in) })
	ends := workflow.New("ends", func(wf *workflow.Context, in string) (string, error) {
		workflow.SetStatus(wf, long)
		return workflow.Call(wf, end, in)
	})
	synctest.Test(t, func(t *testing.T) {
		engine, err := perdure.Open(t.Context(), shopFile(), perdure.Register(waits, ends, wait, end),
			perdure.NodeName("node-"+long[:100]), perdure.Logger(slog.New(slog.DiscardHandler)))
		if err == nil {
			err = engine.Start(t.Context())
		}
		for i := range 3 {
			_, err1 := perdure.Start(t.Context(), engine, waits, fmt.Sprint("waits-", i, long[8:]), long)
			_, err2 := perdure.Start(t.Context(), engine, ends, fmt.Sprint("ends-", i, long[8:]), long)
			err = errors.Join(err, err1, err2)
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		ids := []string{"waits-0" + long[8:], "ends-0" + long[8:]}
		commands := [][]string{{"status"}, {"list"}, {"list", "--retrying"}, {"list", "--calls", "gated"}, {"list", "--status", "failed"},
			{"attempts"}, {"calls"}, {"stats", "activities"}, {"stats", "errors"}, {"policy", "try", "never"}, {"nodes"}, {"gates"},
			{"pause", "--all", "--dry-run"}, {"pause", ids[0], "--reason", long}, {"list", "--calls", "paused"}}
		commands = append(commands, []string{"audit", ids[0]})
		for _, id := range ids {
			for _, c := range []string{"show", "history", "attempts", "calls"} {
				commands = append(commands, []string{c, id})
			}
		}
		for _, width := range []int{80, 100, 132} {
			for _, c := range commands {
				lines, tables := widths(t, width, c)
				if tables == 0 {
					t.Errorf("%q shows no table", c)
				}
				for _, line := range lines {
					if n := utf8.RuneCountInString(line); n > width {
						t.Errorf("%s at %d columns: a row has %d:\n%s", c[0], width, n, line)
					}
				}
			}
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
}

// widths runs a command at a width, and returns the rows of the tables that it prints and
// how many there are. A table begins with its heads, or with the facts of a workflow.
func widths(t *testing.T, width int, args []string) (rows []string, tables int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	Run(t.Context(), Env{
		Args: append(args, "--db", "shop.db"), Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Now: time.Now,
		Getenv: func(name string) string { return map[string]string{"COLUMNS": fmt.Sprint(width)}[name] },
	})
	if stderr.Len() > 0 {
		t.Errorf("%q: %s", args, stderr.String())
	}
	within := false
	for line := range strings.Lines(stdout.String()) {
		line = strings.TrimRight(line, "\n")
		head := strings.Fields(line)
		isHead := len(head) > 1 && strings.ToUpper(line) == line || strings.HasPrefix(line, "  run ")
		switch {
		case isHead && !within:
			within = true
			tables++
		case line == "":
			within = false
		}
		if within {
			rows = append(rows, line)
		}
	}
	return rows, tables
}
