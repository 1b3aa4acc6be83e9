package inspect

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// owning makes a node the owner of all partitions and returns how it commits a first turn: a run
// that began at a time, with its events and the rows of its calls.
func owning(t *testing.T, in *Inspector, db store.Store) (begin func(id string, at int64, events []history.Event, rows []store.Call) store.Turn) {
	t.Helper()
	if err := db.Join(t.Context(), store.Node{ID: "n", Name: "n", Lease: time.Hour}); err != nil {
		t.Fatal(err)
	}
	owned, err := db.Claim(t.Context(), "n", in.group.All())
	if err != nil {
		t.Fatal(err)
	}
	epochs := map[int]int64{}
	for _, o := range owned {
		epochs[o.Partition] = o.Epoch
	}
	return func(id string, at int64, events []history.Event, rows []store.Call) store.Turn {
		t.Helper()
		run := ident.NewRun(at)
		place := entity.Place(in.group, id)
		row, err := record.NewRun(place, &history.Start{WorkflowID: id, Run: run, Type: "checkout", Chain: run, Attempt: 1, Created: at})
		if err != nil {
			t.Fatal(err)
		}
		data, err := history.SealTurn(run, 1, at, events)
		if err != nil {
			t.Fatal(err)
		}
		row.Wake = store.Hot
		turn := store.Turn{Partition: place, Epoch: epochs[place], Run: run, Create: row, Number: 1, CommitID: 1, Time: at, Events: data, Calls: rows}
		result, err := db.Commit(t.Context(), []store.Turn{turn})
		if err != nil || result.Errors[0] != nil {
			t.Fatal(err, result.Errors)
		}
		return turn
	}
}

// TestF52_RunsAreFoundByTheirCalls: runs whose calls retry, in whatever state, are one list,
// newest first; its pages together are the list, and a search looks at few runs and says how far
// it has come.
func TestF52_RunsAreFoundByTheirCalls(t *testing.T) {
	in, db := open(t)
	in.search = 700 // a hundredth: seven runs are looked at
	begin := owning(t, in, db)
	row := func(call int64, state store.CallState, failures int) store.Call {
		data, err := history.Seal(map[string]any{"first": now, "failures": failures})
		if err != nil {
			t.Fatal(err)
		}
		return store.Call{Number: call, State: state, Name: "charge", Attempt: failures + 1, Data: data}
	}
	var want []string
	for i := range 60 {
		rows, retries := []store.Call{row(1, store.Queued, 0)}, false
		switch {
		case i%10 == 3:
			rows, retries = []store.Call{row(1, store.Backoff, 2)}, true
		case i%10 == 5:
			rows, retries = []store.Call{row(1, store.Gated, 1), row(2, store.Backoff, 1)}, true
		case i == 22 || i == 51:
			rows, retries = []store.Call{row(1, store.Offered, 0), row(2, store.Queued, 3)}, true
		case i%10 == 8:
			rows = []store.Call{row(1, store.Paused, 3)}
		}
		events := []history.Event{
			{Kind: history.ActivityScheduled, Call: 1, Name: "charge"}, {Kind: history.ActivityScheduled, Call: 2, Name: "charge"},
		}
		turn := begin(ident.NewRun(now), now+int64(i)*int64(time.Second), events[:len(rows)], rows)
		if retries {
			want = append(want, turn.Run)
		}
	}
	slices.Reverse(want)
	for _, limit := range []int{1, 3, 100} {
		filter := view.Filter{Call: view.CallRetrying, Limit: limit}
		var found []string
		pages := 0
		for more := true; more; pages++ {
			p, err := in.Search(t.Context(), filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range p.Runs {
				if found = append(found, r.RunID); r.Wait == nil || r.Wait.Retrying == 0 {
					t.Errorf("%s waits for %+v", r.RunID, r.Wait)
				}
			}
			switch {
			case len(p.Runs) == limit && p.Searched != "":
				t.Errorf("a full page was searched to %s", p.Searched)
			case len(p.Runs) == limit:
				filter.Before = p.Runs[limit-1].RunID
			case p.Searched != "":
				filter.Before = p.Searched
			default:
				more = false
			}
		}
		if !slices.Equal(found, want) || pages < 8 {
			t.Errorf("by pages of %d, in %d of them, %v; want %v", limit, pages, found, want)
		}
		all, err := in.List(t.Context(), view.Filter{Call: view.CallRetrying, Limit: limit})
		if err != nil || len(all) != min(limit, len(want)) || all[0].RunID != want[0] {
			t.Errorf("a list of %d has %d, %v", limit, len(all), err)
		}
	}
	if rest, err := in.List(t.Context(), view.Filter{Call: view.CallPaused}); err != nil || len(rest) != 6 {
		t.Errorf("%d runs rest, %v", len(rest), err)
	}
	in.paused = switchedOff("charge")
	if rest, err := in.List(t.Context(), view.Filter{Call: view.CallPaused}); err != nil || len(rest) != 60-12 {
		t.Errorf("%d runs rest while the activity is paused, %v", len(rest), err)
	}
	if _, err := RunFilter(view.Filter{Call: view.CallRetrying}, nil); err == nil {
		t.Error("an operation selects by what is no state")
	}
}

// switchedOff returns the switches while an activity is paused.
func switchedOff(activity string) func(context.Context) (map[string]store.Switch, error) {
	return func(context.Context) (map[string]store.Switch, error) {
		return map[string]store.Switch{activity: {Name: activity, By: "ann"}}, nil
	}
}

// TestF54_TheAuditReadsSoMuch: the audit of all runs reads so many turns and says how many runs
// these were, unless it is told how many to read.
func TestF54_TheAuditReadsSoMuch(t *testing.T) {
	in, db := open(t)
	in.search = 70 // a tenth: seven turns are read
	begin := owning(t, in, db)
	for i := range 20 {
		begin(ident.NewRun(now), now+int64(i)*int64(time.Second), []history.Event{
			{Kind: history.RunControlled, Operation: "pause", By: "ann", Outcome: view.Applied},
		}, nil)
	}
	for _, c := range []struct {
		filter view.AuditFilter
		runs   int
		unread bool
	}{
		{view.AuditFilter{}, 7, true},
		{view.AuditFilter{Runs: 12}, 12, true},
		{view.AuditFilter{Runs: 20}, 20, false},
		{view.AuditFilter{Until: time.Unix(0, now).Add(6500 * time.Millisecond)}, 7, false},
	} {
		a, err := in.AuditGroup(t.Context(), c.filter)
		if err != nil {
			t.Fatal(err)
		}
		latest := time.Unix(0, now).Add(19 * time.Second)
		if !c.filter.Until.IsZero() {
			latest = c.filter.Until.Add(-500 * time.Millisecond)
		}
		if a.Runs != c.runs || a.Unread != c.unread || len(a.Records) != c.runs || !a.Records[0].Time.Equal(latest) {
			t.Errorf("%+v: of %d runs %d records, unread %v: %+v", c.filter, a.Runs, len(a.Records), a.Unread, a.Records)
		}
	}

	// An audit goes on where the one before has ended.
	seen, pages, filter := map[string]bool{}, 0, view.AuditFilter{}
	for {
		a, err := in.AuditGroup(t.Context(), filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range a.Records {
			if seen[r.RunID] {
				t.Errorf("%s comes twice", r.RunID)
			}
			seen[r.RunID] = true
		}
		pages++
		if a.Unread != (a.Searched != "") || a.Unread && a.Searched != a.Records[len(a.Records)-1].RunID {
			t.Errorf("unread %v, searched to %q", a.Unread, a.Searched)
		}
		if !a.Unread {
			break
		}
		filter.Before = a.Searched
	}
	if len(seen) != 20 || pages != 3 {
		t.Errorf("%d runs in %d pages", len(seen), pages)
	}
}
