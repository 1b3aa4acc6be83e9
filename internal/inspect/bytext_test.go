package inspect

import (
	"fmt"
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/view"
)

// TestF12_ATextFindsRuns: by ID, input, memo and attributes, whatever the case of its letters, in
// pages that leave nothing out; a bounded search says where it stopped; what needs all runs that
// match refuses a text.
func TestF12_ATextFindsRuns(t *testing.T) {
	s, in := scene(t)
	in.search = 140 // a twentieth, in steps of five: five runs are looked at
	for i := range 10 {
		s.Create("w", fmt.Sprint("plain-", i))
	}
	s.Create("w", "NEEDLE-id")
	s.Create("w", "input", func(h *history.Start) { h.Input = roomtest.Payload(map[string]string{"of": "the Needle <b>"}) })
	s.Create("w", "memo", func(h *history.Start) { h.Memo = roomtest.Payload("needle") })
	s.Create("w", "attribute", func(h *history.Start) { h.Attributes = map[string]string{"k": "a needle"} })
	s.Create("other", "of another workflow needle")
	for i := range 12 {
		s.Create("w", fmt.Sprint("later-", i))
	}
	all := []string{"NEEDLE-id", "attribute", "input", "memo"} // runs of one millisecond have any order
	ids := func(runs []view.Run) (ids []string) {
		for _, r := range runs {
			ids = append(ids, r.WorkflowID)
		}
		slices.Sort(ids)
		return ids
	}
	list := func(f view.Filter) []string {
		t.Helper()
		runs, err := in.List(t.Context(), f)
		s.Must(err)
		return ids(runs)
	}
	if got := list(view.Filter{Text: "needle", Workflow: "w"}); !slices.Equal(got, all) {
		t.Errorf("found are %q", got)
	}
	if got := list(view.Filter{Text: "the needle <B>"}); !slices.Equal(got, []string{"input"}) {
		t.Errorf("by its input %q is found", got)
	}
	if got := list(view.Filter{Text: "none"}); got != nil {
		t.Errorf("what is not there is found in %q", got)
	}
	if got := list(view.Filter{Text: "needle", Workflow: "w", Limit: 3}); len(got) != 3 {
		t.Errorf("the first page is %q", got)
	}
	var found []string
	pages, before := 0, ""
	for {
		p, err := in.Search(t.Context(), view.Filter{Text: "needle", Status: []string{view.StatusRunning}, Before: before, Limit: 2})
		s.Must(err)
		found = append(found, ids(p.Runs)...)
		if pages++; len(p.Runs) == 2 {
			p.Searched = p.Runs[1].RunID
		}
		if before = p.Searched; before == "" {
			break
		}
	}
	slices.Sort(found)
	if want := append(slices.Clone(all), "of another workflow needle"); !slices.Equal(found, want) || pages < 4 {
		t.Errorf("in %d pages %q are found", pages, found)
	}
	for name, f := range map[string]view.Filter{"beside a state": {Text: "x", Call: view.CallBackoff}, "of a search": {Text: "x", Call: view.CallRetrying}} {
		if _, err := in.List(t.Context(), f); err == nil {
			t.Errorf("%s: a text is taken and ignored", name)
		}
	}
	if _, err := RunFilter(view.Filter{Text: "x"}, nil); err == nil {
		t.Error("an operation on all that match takes a text")
	}
}
