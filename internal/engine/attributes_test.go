package engine_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// TestE61_FindRuns: runs are found by what they were given at the start, by time and
// by status, all runs of a chain by the same; operations on many select by it, too.
func TestE61_FindRuns(t *testing.T) {
	needsQueries.inBothModes(t, func(t *testing.T, w *world) {
		e := w.start(collector.Impl(collect))
		client := w.config()
		client.Node = "client"
		other := w.open(client)
		began := time.Now()
		for n := range 12 {
			input, _ := history.Encode(collected{Each: 1, All: 2})
			by := e
			if n%2 == 1 {
				by = other // which does not run it
			}
			_, _, err := by.StartRun(t.Context(), request.Start{
				WorkflowID: fmt.Sprint("w", n), Type: "collector", Input: input,
				Settings: history.Settings{Attributes: map[string]string{"customer": []string{"ann", "bob"}[n%2], "tier": fmt.Sprint(n % 3)}},
			})
			if err != nil {
				t.Fatal(err)
			}
			pass(time.Minute)
		}
		found := func(f view.Filter) string {
			t.Helper()
			var ids []string
			for f.Limit = 2; ; { // by pages
				runs, err := e.List(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range runs {
					ids = append(ids, r.WorkflowID)
					f.Before = r.RunID
				}
				if len(runs) < 2 {
					return strings.Join(ids, " ")
				}
			}
		}
		ann := map[string]string{"customer": "ann"}
		same(t, "by one", found(view.Filter{Attributes: ann}), "w10 w8 w6 w4 w2 w0")
		same(t, "by two", found(view.Filter{Attributes: map[string]string{"customer": "ann", "tier": "1"}}), "w10 w4")
		same(t, "since", found(view.Filter{Since: began.Add(9 * time.Minute)}), "w11 w10 w9")
		same(t, "until", found(view.Filter{Until: began.Add(2 * time.Minute), Attributes: ann}), "w0")
		signal(t, e, "w4", "number", "", 1)
		pass(time.Second)
		same(t, "the next run of a chain", found(view.Filter{Attributes: ann, Status: []string{string(store.Running)}}), "w4 w10 w8 w6 w2 w0")
		d := describe(t, e, "w4")
		if len(d.Chain) != 2 || !maps.Equal(d.Attributes, map[string]string{"customer": "ann", "tier": "1"}) {
			t.Errorf("described: %+v", d.Attributes)
		}
		r := forAll(t, e, view.Filter{Attributes: ann, Until: began.Add(5 * time.Minute)}, core.Control{Operation: core.TerminateTheRun}, false)
		same(t, "terminated", r.Applied, 2) // w0 and w2: w4 goes on as a later run
	})
}

// TestE61_AttributesRefused: what would not be found is refused.
func TestE61_AttributesRefused(t *testing.T) {
	w := newWorld(t)
	e := w.start(collector.Impl(collect))
	many := map[string]string{}
	for n := range history.MaxAttributes + 1 {
		many[fmt.Sprint("n", n)] = ""
	}
	for what, all := range map[string]map[string]string{
		"too many":   many,
		"no name":    {"": "x"},
		"long name":  {strings.Repeat("n", 65): "x"},
		"long value": {"n": strings.Repeat("v", 257)},
		"no text":    {"n": "\xff"},
		"NUL":        {"n": "a\x00"},
	} {
		_, _, err := e.StartRun(t.Context(), request.Start{WorkflowID: "w", Type: "collector", Settings: history.Settings{Attributes: all}})
		var wrong *history.InputError
		if !errors.As(err, &wrong) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
