package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/workflow"
)

// TestF14_TablesFit: no row of a table is wider than the terminal, whatever is in it.
func TestF14_TablesFit(t *testing.T) {
	for name, text := range map[string]string{"long": "customer-4711-", "wide": "客户-4711 👍🏽-e\u0301-"} {
		t.Run(name, func(t *testing.T) { tablesFit(t, strings.Repeat(text, 180/len(text))) })
	}
}

func tablesFit(t *testing.T, long string) {
	t.Chdir(t.TempDir())
	cut := func(bytes int) string { return strings.ToValidUTF8(long[:bytes], "") }
	fault := errors.New(long + strings.Repeat("; the answer of the gateway cannot be read", 250))
	door := gate.New("gate-"+cut(90), 1, gate.WithMode(gate.Hold))
	wait := activity.New("wait-"+cut(90), func(context.Context, string) (string, error) { return "", fault }, activity.Retry(slow), activity.Through(door))
	end := activity.New("end", func(context.Context, string) (string, error) { return "", fault }, activity.Retry(retry.Never))
	waits := workflow.New("waits-"+cut(90), func(wf *workflow.Context, in string) (string, error) { return workflow.Call(wf, wait, in) })
	ends := workflow.New("ends", func(wf *workflow.Context, in string) (string, error) {
		workflow.SetStatus(wf, long)
		return workflow.Call(wf, end, in)
	})
	synctest.Test(t, func(t *testing.T) {
		engine := fixture{defs: []perdure.Definition{waits, ends, wait, end}}.open(t, shopFile(), perdure.NodeName("node-"+cut(100)))
		for i := range 3 {
			begin(t, engine, waits, fmt.Sprint("waits-", i, long), long)
			begin(t, engine, ends, fmt.Sprint("ends-", i, long), long)
		}
		time.Sleep(time.Minute)
		ids := []string{"waits-0" + long, "ends-0" + long}
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
					if n := term.Width(line); n > width {
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
