package perduretest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/view"
)

var rewrite = flag.Bool("perduretest.update", false, "rewrite the files that Env.ExpectHistory compares with")

// updating also heeds a flag named update, which many tests have for their own
// golden files.
func updating() bool {
	if *rewrite {
		return true
	}
	own := flag.Lookup("update")
	if own == nil {
		return false
	}
	on, err := strconv.ParseBool(own.Value.String())
	return err == nil && on
}

// ExpectHistory compares the history of the latest run of a workflow ID with a
// file, one event a line, and shows the first line that differs. Times are those
// since the start of the run; run IDs and names of nodes are left out, so that the
// text is the same in every run of the test. After an intended change:
//
//	go test -run TestCheckout -perduretest.update
//
// rewrites the file, and so does -update in tests that have such a flag.
func (e *Env) ExpectHistory(id, file string) {
	e.t.Helper()
	got, err := renderHistory(e.Workflow(id).History())
	if err != nil {
		e.t.Fatal(err)
	}
	if updating() {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(got), 0o666)); err != nil {
			e.t.Fatal(err)
		}
		return
	}
	recorded, err := os.ReadFile(file)
	if err != nil {
		e.t.Errorf("%v\nTo write it: %s -perduretest.update\nThe history is\n%s", err, again(e.t.Name()), got)
		return
	}
	want := strings.ReplaceAll(string(recorded), "\r\n", "\n")
	if line, a, b := firstDifference(got, want); line > 0 {
		e.t.Errorf("The history of %q differs from %s in line %d:\n  got  %s\n  want %s\nIf that is right: %s -perduretest.update\nThe history is\n%s",
			id, file, line, a, b, again(e.t.Name()), got)
	}
}

// firstDifference returns the number of the first line that differs, counted from
// 1, and both forms of it; 0 if none does.
func firstDifference(got, want string) (line int, a, b string) {
	gots, wants := strings.Split(got, "\n"), strings.Split(want, "\n")
	at := func(lines []string, i int) string {
		if i < len(lines) && lines[i] != "" {
			return lines[i]
		}
		return "(nothing)"
	}
	for i := range max(len(gots), len(wants)) {
		if a, b := at(gots, i), at(wants, i); a != b {
			return i + 1, a, b
		}
	}
	return 0, "", ""
}

// times are the fields of an event that are points in time.
var times = []string{"due", "deadline", "first_turn", "queued", "started", "ended", "created"}

// volatile are those that are other ones whenever a test runs, or say again what
// the beginning of the line or the failure says.
var volatile = []string{"kind", "time", "turn", "call", "name", "node", "trace", "run", "chain", "previous", "v", "workflow_id", "type", "error_type", "created", "queued", "started", "ended"}

// renderHistory writes a history as text: the number of the turn, when, what, the
// number and name of the call, and what else is on record, as JSON.
func renderHistory(events []view.Event) (string, error) {
	if len(events) == 0 {
		return "", nil
	}
	began := events[0].Time
	var b strings.Builder
	for _, ev := range events {
		raw, err := ev.MarshalJSON()
		if err != nil {
			return "", err
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		fields := map[string]any{}
		if err := decoder.Decode(&fields); err != nil {
			return "", fmt.Errorf("the event of turn %d cannot be read: %w", ev.Turn, err)
		}
		for _, name := range volatile {
			delete(fields, name)
		}
		if ev.Kind == "RunContinued" {
			delete(fields, "id") // of the next run
		}
		for _, name := range times {
			if n, is := fields[name].(json.Number); is {
				ns, _ := n.Int64()
				fields[name] = "+" + time.Unix(0, ns).Sub(began).String()
			}
		}
		soften(fields["failure"])
		soften(fields["retry"])
		fmt.Fprintf(&b, "%d +%s %s", ev.Turn, ev.Time.Sub(began), ev.Kind)
		if ev.Call > 0 {
			fmt.Fprintf(&b, " #%d", ev.Call)
		}
		if ev.Name != "" {
			fmt.Fprintf(&b, " %q", ev.Name)
		}
		if len(fields) > 0 {
			text, err := json.Marshal(fields) // keys in order
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, " %s", text)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

// soften takes stacks, points in time and what is worked out from the rest out of a failure
// or a retry summary. What an error itself consists of is its data, and stays.
func soften(value any) {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "stack")
		delete(v, "at_ms")
		delete(v, "last_error_type")
		for name, inner := range v {
			if name != "data" {
				soften(inner)
			}
		}
	case []any:
		for _, inner := range v {
			soften(inner)
		}
	}
}
