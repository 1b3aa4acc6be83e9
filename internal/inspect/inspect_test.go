package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/view"
)

const now = int64(1_800_000_000_000_000_000)

// open returns an Inspector of an empty database, and the database.
func open(t *testing.T) (*Inspector, store.Store) {
	t.Helper()
	db, err := memory.New().Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g, err := db.Group(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return New(db, Config{
		Group: g, Now: func() int64 { return now }, Usable: func() error { return nil },
		Paused: func(context.Context) (map[string]store.Switch, error) { return nil, nil },
		Limits: Limits{Events: 10, PendingCalls: 10, Signals: 10},
	}), db
}

// create makes a run that no engine has served yet.
func create(t *testing.T, in *Inspector, db store.Store, id string, input any) string {
	t.Helper()
	payload, err := history.Encode(input)
	if err != nil {
		t.Fatal(err)
	}
	run := ident.NewRun(now)
	row, err := record.NewRun(entity.Place(in.group, id), &history.Start{
		WorkflowID: id, Run: run, Type: "checkout", Chain: run, Attempt: 1, Created: now, Input: payload,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Create(t.Context(), *row); err != nil {
		t.Fatal(err)
	}
	return run
}

func TestARunIsShownBeforeAnyEngineServesIt(t *testing.T) {
	in, db := open(t)
	run := create(t, in, db, "order-17", map[string]int{"total": 5})
	d, err := in.Describe(t.Context(), "order-17", "")
	if err != nil {
		t.Fatal(err)
	}
	if d.RunID != run || d.Workflow != "checkout" || d.Status != view.StatusRunning || d.Input.String() != `{"total":5}` || !d.Created.Equal(time.Unix(0, now)) || len(d.Pending) != 0 {
		t.Errorf("it is %+v", d)
	}
	events, err := in.Events(t.Context(), "order-17", run, view.HistoryRange{})
	if err != nil || len(events) != 1 || events[0].Kind != string(history.RunStarted) {
		t.Errorf("its history is %+v, %v", events, err)
	}
	counts, err := in.Counts(t.Context(), 0)
	if err != nil || counts.Runs[view.StatusRunning] != 1 {
		t.Errorf("counted %+v, %v", counts, err)
	}
	if _, err := in.Describe(t.Context(), "order-18", run); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the run of another workflow ID: %v", err)
	}
}

func TestOnlyRunsAreFoundByWorkflowID(t *testing.T) {
	in, _ := open(t)
	for _, id := range []string{"", "#gate/payments", "#schedule/nightly"} {
		if _, err := in.Find(t.Context(), id, ""); err == nil || errors.Is(err, store.ErrNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
	in.usable = func() error { return errors.New("stopped") }
	if _, err := in.Find(t.Context(), "order-17", ""); err == nil || err.Error() != "stopped" {
		t.Errorf("after the end: %v", err)
	}
}

func TestListsAreFilteredByTime(t *testing.T) {
	in, db := open(t)
	create(t, in, db, "order-17", nil)
	created := time.Unix(0, now)
	for _, c := range []struct {
		filter view.Filter
		want   int
	}{
		{view.Filter{}, 1},
		{view.Filter{Since: created, Until: created.Add(1)}, 1},
		{view.Filter{Since: created.Add(1)}, 0},
		{view.Filter{Until: created}, 0},
		{view.Filter{Workflow: "checkout", IDPrefix: "order-", Status: []string{view.StatusRunning}}, 1},
		{view.Filter{Workflow: "another"}, 0},
	} {
		if runs, err := in.List(t.Context(), c.filter); len(runs) != c.want || err != nil {
			t.Errorf("%+v selects %d runs, %v", c.filter, len(runs), err)
		}
	}
}

// TestMismatchesAreShownAsRecorded compares the JSON.
func TestMismatchesAreShownAsRecorded(t *testing.T) {
	m := &core.Mismatch{Turn: 3, Command: 1, Expected: &history.Event{Kind: history.ActivityScheduled, Call: 2, Name: "charge"}}
	shown, err := mismatch(m)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(m)
	if got, err := json.Marshal(shown); string(got) != string(want) || err != nil {
		t.Errorf("%s is shown as %s, %v", want, got, err)
	}
}

func TestCursorsComeBackAsTheyWere(t *testing.T) {
	key := store.LedgerKey{Ended: now, Run: "r", Call: 2, Number: 3}
	if got, err := parseCursor(cursor(key)); got != key || err != nil {
		t.Errorf("it is %+v, %v", got, err)
	}
	for _, text := range []string{"x", "W10", "!"} {
		if _, err := parseCursor(text); err == nil {
			t.Errorf("%q is a cursor", text)
		}
	}
}

func TestWarningsBeginAtFourFifthsOfALimit(t *testing.T) {
	l := Limits{Events: 10, PendingCalls: 10, Signals: 10}
	if got := l.warnings(7, 7, 7); len(got) != 0 {
		t.Errorf("below: %q", got)
	}
	if got := l.warnings(8, 8, 8); len(got) != 3 {
		t.Errorf("from there on: %q", got)
	}
}

// TestE137_ASearchSaysHowFarItHasCome: its pages together are the list, each looks at few runs,
// and a filter that an index serves is not cut.
func TestE137_ASearchSaysHowFarItHasCome(t *testing.T) {
	in, db := open(t)
	in.search = 10 * in.group.Partitions
	input, err := history.Encode(1)
	if err != nil {
		t.Fatal(err)
	}
	rare := map[int]bool{3: true, 4: true, 47: true}
	var want []string
	for i := range 60 {
		at, kind := now+int64(i)*int64(time.Second), "common"
		if rare[i] {
			kind = "rare"
		}
		run, id := ident.NewRun(at), "order-"+kind
		row, err := record.NewRun(entity.Place(in.group, id), &history.Start{
			WorkflowID: id + run, Run: run, Type: kind, Chain: run, Attempt: 1, Created: at, Input: input,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Create(t.Context(), *row); err != nil {
			t.Fatal(err)
		}
		if rare[i] {
			want = append(want, run)
		}
	}
	slices.Reverse(want)
	for _, filter := range []view.Filter{{Workflow: "rare"}, {Workflow: "rare", Limit: 1}, {IDPrefix: "order-rare"}} {
		var found []string
		pages := 0
		for more := true; more; pages++ {
			p, err := in.Search(t.Context(), filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range p.Runs {
				found = append(found, r.RunID)
			}
			switch {
			case p.Searched != "":
				filter.Before = p.Searched
			case filter.Limit > 0 && len(p.Runs) == filter.Limit:
				filter.Before = p.Runs[len(p.Runs)-1].RunID
			default:
				more = false
			}
		}
		if !slices.Equal(found, want) || pages < 4 {
			t.Errorf("%+v: in %d pages %v, want %v", filter, pages, found, want)
		}
	}
	for _, filter := range []view.Filter{{}, {Workflow: "rare", Status: []string{view.StatusRunning}}, {Workflow: "rare", Attributes: map[string]string{"a": "b"}}, {Workflow: "rare", Since: time.Unix(0, now).Add(55 * time.Second)}} {
		if p, err := in.Search(t.Context(), filter); err != nil || p.Searched != "" {
			t.Errorf("%+v: searched to %q, %v", filter, p.Searched, err)
		}
	}
	if all, err := in.List(t.Context(), view.Filter{Workflow: "rare"}); err != nil || len(all) != len(want) {
		t.Errorf("a list of all has %d, %v", len(all), err)
	}
}
