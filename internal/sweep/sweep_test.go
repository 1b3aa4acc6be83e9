package sweep

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
)

// closed is a run that has ended.
type closed struct {
	id, of, chain string // its ID, its workflow ID, and the first run of its chain
	end           store.Status
	days          int    // ago
	next          string // of its chain, if it was continued
}

// TestE62_WhatOfAChainIsDeleted: a run that has ended is kept as long as a later run of its chain
// (it was reset, and the later one shows what it took over), also if the ID was used again
// meanwhile. What was continued goes with the run that its chain ended with.
func TestE62_WhatOfAChainIsDeleted(t *testing.T) {
	const day = 24 * time.Hour
	old := view.Retention{Completed: 5 * day, Failed: 5 * day}
	for name, c := range map[string]struct {
		runs   []closed // the oldest first
		keep   view.Retention
		awaits string // somebody does
		left   string
	}{
		"by age and status": {keep: view.Retention{Completed: 5 * day}, left: "failed new", runs: []closed{
			{"failed", "c", "failed", store.Failed, 7, ""}, {"old", "a", "old", store.Completed, 6, ""}, {"new", "b", "new", store.Completed, 4, ""},
		}},
		"awaited": {keep: old, awaits: "one", left: "one", runs: []closed{
			{"one", "a", "one", store.Completed, 6, ""}, {"two", "b", "two", store.Completed, 6, ""},
		}},
		"reset, and the later run is young": {keep: old, left: "first later", runs: []closed{
			{"first", "a", "first", store.Failed, 9, ""}, {"later", "a", "first", store.Completed, 4, ""},
		}},
		"reset, and the later run is old": {keep: old, runs: []closed{
			{"first", "a", "first", store.Failed, 9, ""}, {"later", "a", "first", store.Completed, 8, ""},
		}},
		"reset, and the ID was used again": {keep: view.Retention{Failed: 5 * day}, left: "first later", runs: []closed{
			{"first", "a", "first", store.Failed, 9, ""}, {"later", "a", "first", store.Completed, 8, ""}, {"other", "a", "other", store.Failed, 7, ""},
		}},
		"reset, the ID was used again, and all is old": {keep: old, runs: []closed{
			{"first", "a", "first", store.Failed, 9, ""}, {"later", "a", "first", store.Completed, 8, ""}, {"other", "a", "other", store.Failed, 7, ""},
		}},
		"the ID was used again": {keep: view.Retention{Failed: 5 * day}, left: "other", runs: []closed{
			{"first", "a", "first", store.Failed, 9, ""}, {"other", "a", "other", store.Completed, 8, ""},
		}},
		"continued, and its end is young": {keep: old, left: "first last", runs: []closed{
			{"first", "a", "first", store.Continued, 9, "last"}, {"last", "a", "first", store.Completed, 4, ""},
		}},
		"continued, and its end is old": {keep: old, runs: []closed{
			{"first", "a", "first", store.Continued, 9, "next"}, {"next", "a", "first", store.Continued, 8, "last"}, {"last", "a", "first", store.Completed, 6, ""},
		}},
		"continued by one that is gone": {keep: old, runs: []closed{{"first", "a", "first", store.Continued, 9, "last"}}},
		"continued by nobody knows whom": {keep: old, left: "first", runs: []closed{
			{"first", "a", "first", store.Continued, 9, ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1_700_000_000, 0)
			db, names := with(t, now, c.runs)
			s := New(Config{
				Context: t.Context(), Store: db, Group: store.Group{Partitions: 1}, Clock: clock.New(now.UnixNano()), Log: logs.New(slog.New(slog.DiscardHandler), false),
				Awaits: func(r *store.Run) bool { return names[r.ID] == c.awaits },
			})
			would, err := s.Sweep(t.Context(), c.keep, []int{0}, true)
			if err != nil {
				t.Fatal(err)
			}
			did, err := s.Sweep(t.Context(), c.keep, []int{0}, false)
			if err != nil {
				t.Fatal(err)
			}
			if would.Runs != did.Runs || fmt.Sprint(would.Status) != fmt.Sprint(did.Status) {
				t.Errorf("a dry run counts %v, and %v are deleted", would.Status, did.Status)
			}
			rows, err := db.List(t.Context(), store.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			var left []string
			for _, r := range slices.Backward(rows) {
				left = append(left, names[r.ID])
			}
			if got := strings.Join(left, " "); got != c.left {
				t.Errorf("left: %q, want %q", got, c.left)
			}
		})
	}
}

// with returns a database that has these runs, and their names by ID.
func with(t *testing.T, now time.Time, runs []closed) (store.Store, map[string]string) {
	t.Helper()
	db, err := memory.New(memory.Partitions(1)).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Group(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	ids, names, latest := map[string]string{}, map[string]string{}, map[string]string{}
	ended := func(r closed) int64 { return now.AddDate(0, 0, -r.days).UnixNano() }
	for _, r := range runs {
		ids[r.id] = ident.NewRun(ended(r))
		names[ids[r.id]] = r.id
	}
	for _, r := range runs {
		next := ids[r.next]
		if next == "" {
			next = r.next // of a run that is not there
		}
		if err := db.Create(t.Context(), store.Run{
			ID: ids[r.id], WorkflowID: r.of, Type: "test", Chain: ids[r.chain], Attempt: 1, Start: []byte("{}"), Created: ended(r), After: latest[r.of],
			RunState: store.RunState{Status: r.end, Wake: store.Never, Closed: ended(r), Detail: core.EncodeDetail(core.Detail{Next: next})},
		}); err != nil {
			t.Fatal(err)
		}
		latest[r.of] = ids[r.id]
	}
	return db, names
}
