package sqlite

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
)

func TestPayloadsAreReadableInTheShell(t *testing.T) {
	h, epoch := owned(t)
	turn := firstTurn(epoch, "r")
	turn.Events = []byte(`[{"ü":1}]`)
	binary := store.Turn{Epoch: epoch, Run: "r", Number: 2, CommitID: 2, Events: []byte("a\x00b")}
	if err := commitAll(t.Context(), h, turn, binary); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := h.read(t.Context(), "types", func(c *conn) error {
		return c.query(t.Context(), "SELECT typeof(events) FROM turns ORDER BY number", func(r row) error {
			got = append(got, r.text(0))
			return nil
		})
	})
	if err != nil || fmt.Sprint(got) != "[text blob]" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestQueriesUseIndexes(t *testing.T) {
	h, epoch := owned(t)
	ctx := t.Context()
	turn := firstTurn(epoch, "r")
	turn.State = &store.RunState{Status: store.Running}
	turn.Create.Attributes = []store.Attribute{{Name: "n", Value: "v"}}
	turn.Calls = []store.Call{{Number: 1, State: store.Queued}}
	turn.Closed, turn.Consumed = []int64{2}, []int64{3}
	turn.Attempts = []store.Attempt{{Call: 1, Number: 2, Prune: 1}}
	turn.Tallies = []store.Tally{{TallyKey: store.TallyKey{Type: "t", Name: "n"}, FirstTry: 1}}
	turn.Messages = []store.Message{{WorkflowID: "workflow-r", Key: "k"}}
	err := errors.Join(
		commitAll(ctx, h, turn),
		commitAll(ctx, h, turn), // again, which reads more
		commitAll(ctx, h, store.Turn{Epoch: epoch, Run: "q", Number: 1, Create: firstTurn(epoch, "r").Create}),
		h.Create(ctx, *firstTurn(epoch, "s").Create),
		h.Post(ctx, store.Message{WorkflowID: "workflow-r", Key: "l"}),
		h.Post(ctx, store.Message{WorkflowID: "workflow-r", Run: "r", Key: "m"}),
	)
	if !errors.Is(err, store.ErrNotFound) { // of the third
		t.Fatal(err)
	}
	h.Due(ctx, []int{0}, -1, 100, 1)
	h.Inbox(ctx, []int{0}, store.InboxRead{Limit: 1})
	h.Inbox(ctx, []int{0}, store.InboxRead{Limit: 1, Of: []string{"w"}})
	h.Load(ctx, 0, "r")
	h.Find(ctx, 0, "w", "")
	for _, part := range []store.AttemptRange{{}, {Call: 1}, {After: store.AttemptKey{Call: 1, Number: 2}, Limit: 3}, {Latest: true, Limit: 3}} {
		h.Attempts(ctx, 0, "r", part)
	}
	key := store.LedgerKey{Ended: 1, Run: "r", Call: 1, Number: 1}
	for _, filter := range []store.LedgerFilter{
		{}, {Before: &key, From: 1, Until: 2}, {Latest: true, Above: 3}, {Name: "n", ErrorType: "e", Outcome: "o", Reason: "w", Type: "t"}, {Limit: 5}, {Outcome: "lost", Limit: 5},
	} {
		h.Ledger(ctx, filter)
		h.Errors(ctx, filter)
	}
	h.Tallies(ctx, store.TallyFilter{})
	h.Tallies(ctx, store.TallyFilter{Type: "t", Name: "n", From: 1, Until: 2})
	h.Delete(ctx, store.Deletion{Runs: []string{"r"}, TalliesBefore: 1, Group: "g", SwitchesBefore: 1})
	h.Owners(ctx, 0)
	h.Counts(ctx, nil, 0)
	h.Group(ctx, "g")
	h.Switch(ctx, store.Switch{Group: "g", Kind: "k", Name: "n", Request: "1"})
	h.Switches(ctx, "g", 0)
	h.Renew(ctx, store.Renewal{Node: "n", Next: 1})
	h.Nodes(ctx)
	h.Release(ctx, "n", []int{0})
	h.Leave(ctx, "n")
	for _, filter := range []store.Filter{{}, {Status: []store.Status{store.Running, store.Failed}}, {Type: "t", IDPrefix: "w", Before: "z"}, {Call: store.Queued}, {ErrorType: "e"}, {ErrorType: "e", Above: "a", Before: "x"},
		{Attributes: []store.Attribute{{Name: "n", Value: "v"}, {Name: "m", Value: "v"}}, Before: "x", Above: "a"},
		{Attributes: []store.Attribute{{Name: "n", Value: "v"}}, Status: []store.Status{store.Failed}},
		{Since: time.Unix(1, 0), Until: time.Unix(2, 0), Above: "a", Before: "x"},
	} {
		h.List(ctx, filter)
	}
	for query, index := range map[string]string{
		"status = ? AND status <> 'completed' AND wake IS NOT 0":           "INDEX runs_status (partition=? AND status=?",
		"status = ? AND wake = 0":                                          "INDEX runs_wake (partition=? AND wake=?",
		"status = ? AND status <> 'completed' AND status <> 'ru":           "INDEX runs_status (partition=? AND status=?",
		"count(*) FROM (SELECT 1 FROM runs WHERE partition = ? AND status": "COVERING INDEX runs_status",
		"outcome = 'lost'": "INDEX attempts_lost (partition=? AND ended>? AND ended<?",
		"AND name = ? AND error_type = ? AND outcome = ?": "INDEX attempts_name (partition=? AND name=? AND ended>? AND ended<?",
		"count(*) FROM (SELECT 1 FROM calls":              "COVERING INDEX calls_state",
	} {
		wantPlan(t, h, query, index)
	}
	tiny := []string{"SCAN partitions", "SCAN sqlite_master", "SCAN n USING INDEX nodes_joined"}
	checked, bounded := 0, 0
	for _, p := range []*pool{h.reader, h.writer} {
		err := h.hold(ctx, p, "explain", func(c *conn) error {
			for _, query := range slices.Collect(maps.Keys(c.stmts)) {
				if word, _, _ := strings.Cut(query, " "); !slices.Contains([]string{"SELECT", "UPDATE", "DELETE", "INSERT"}, word) {
					continue
				}
				checked++
				err := c.query(ctx, "EXPLAIN QUERY PLAN "+strings.ReplaceAll(query, "?", "1"), func(r row) error {
					plan := r.text(3)
					scans := strings.HasPrefix(plan, "SCAN") && !strings.HasPrefix(plan, "SCAN json_each") && !slices.Contains(tiny, plan) && !strings.Contains(plan, "CONSTANT ROW")
					sorts := strings.Contains(plan, "TEMP B-TREE") && !strings.Contains(query, "id IN")
					if strings.Contains(query, sumsOfTallies) {
						sorts = false // likewise
					}
					if strings.HasPrefix(query, "SELECT count(*) FROM (") { // so does who counts
						scans = scans && plan != "SCAN (subquery-1)"
					}
					if strings.HasPrefix(query, errorGroups) { // who counts groups has to sort what it read by an index
						scans, sorts = scans && !strings.HasPrefix(plan, "SCAN (subquery"), false
					}
					if strings.Contains(query, "EXISTS (SELECT 1 FROM attempts") && strings.HasPrefix(plan, "SEARCH a ") && strings.HasSuffix(plan, "(partition=? AND run=?)") {
						bounded++
					}
					if scans || sorts {
						t.Errorf("%s\n\t%s", query, plan)
					}
					return nil
				})
				if err != nil {
					return fmt.Errorf("%s: %w", query, err)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if bounded != 1 {
		t.Errorf("a search by error in a part of the runs looks at the attempts of each of them in %d queries; want 1", bounded)
	}
	if checked < 50 {
		t.Errorf("only %d queries were looked at", checked)
	}
}

// wantPlan demands that the first step of all queries with this part, or that of the subquery
// from which they select, uses an index, and that there is one.
func wantPlan(t *testing.T, h *handle, part, index string) {
	t.Helper()
	found := false
	err := h.read(t.Context(), "explain", func(c *conn) error {
		for _, query := range slices.Collect(maps.Keys(c.stmts)) {
			if strings.HasPrefix(query, "EXPLAIN") || !strings.Contains(query, part) {
				continue
			}
			found = true
			var steps []string
			err := c.query(t.Context(), "EXPLAIN QUERY PLAN "+strings.ReplaceAll(query, "?", "1"), func(r row) error {
				steps = append(steps, r.text(3))
				return nil
			})
			if err != nil {
				return err
			}
			if strings.HasPrefix(steps[0], "CO-ROUTINE") {
				steps = steps[1:]
			}
			if !strings.Contains(steps[0], index) {
				t.Errorf("%s\n\t%q, want %s", query, steps, index)
			}
		}
		return nil
	})
	if err != nil || !found {
		t.Errorf("a query with %q was made: %v, %v", part, found, err)
	}
}

func TestSchemaIsMarkedAsOurs(t *testing.T) {
	h, _ := owned(t)
	err := h.read(t.Context(), "identify", func(c *conn) error {
		version, empty, err := identify(c, h.path, len(migrations))
		if version != int64(len(migrations)) || empty {
			t.Errorf("version %d of %d, empty: %v", version, len(migrations), empty)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
