package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// TestI13_DamagedRows: what is wrong on record of a run or of a gate parks that run
// or keeps that gate from going on. The process and all else go on.
func TestI13_DamagedRows(t *testing.T) {
	extent.Unwatched(t, "it varies what is on record")
	states := []store.CallState{store.Queued, store.Dispatched, store.External, store.Backoff, store.Gated, store.Paused, store.Quarantined, "else"}
	rows := []string{
		`{}`, `{"untold":true}`, `{"passes":[{"state":"held"}]}`, `{"passes":[{"state":"asked"},{},{}]}`, `{"passes":[{"state":"else","ticket":-1}]}`,
		`{"undecided":{"outcome":"failed","judges":1}}`, `{"undecided":{"judges":-1},"untold":true}`, `{"pause":{"due":-5}}`, `{"first":-9e18,"beat_at":-1}`, `[]`, `null`, `7`, ``,
	}
	needsQueries.inBothModesShared(t, 1, func(t *testing.T, w *world) {
		f := newFragile(retry.Policy{Backoff: retry.Fixed(time.Hour), CrashLimit: 2})
		through := activity.Through(gate.New("thrifty", 1, gate.WithBudget(gate.Budget{Tokens: 1000})))
		flow := calls(f.activity, through)
		e := w.start(flow, f.activity)
		ids := []string{}
		for range len(states) * len(rows) {
			ids = append(ids, fmt.Sprint(len(ids)))
			begin(t, e, flow, ids[len(ids)-1], 0)
		}
		pass(time.Minute)
		runs := map[string]string{}
		for _, id := range ids {
			runs[id] = describe(t, e, id).RunID
		}
		stop(t, e)
		s, err := w.bare.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		owner := w.claim(s, "vandal")
		for i, id := range ids {
			data := rows[i%len(rows)]
			damage := store.Turn{Partition: owner.Partition, Epoch: owner.Epoch, Run: runs[id], Time: here(), Calls: []store.Call{{
				Partition: owner.Partition, Run: runs[id], Number: 1, State: states[i/len(rows)], Name: "fragile", Attempt: 1 - i%3, Due: here(), Data: []byte(data),
			}}, State: &store.RunState{Status: store.Running, Wake: store.Hot}}
			if result, err := s.Commit(t.Context(), []store.Turn{damage}); err != nil || result.Errors[0] != nil {
				t.Fatalf("%s: %v, %v", data, err, result.Errors)
			}
		}
		if err := s.Leave(t.Context(), "vandal"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		f.broken.Store(false)
		e = w.start(flow, f.flow, f.activity)
		pass(2 * time.Hour)
		parked := 0
		for _, id := range ids {
			d, err := e.Describe(t.Context(), id, "")
			switch { // a row that nobody can read may be what Describe says
			case err == nil && d.Status == "parked" && d.Reason == "":
				t.Errorf("%s is parked and nobody knows why", id)
			case err == nil && d.Status == "parked":
				parked++
			}
		}
		if parked == 0 {
			t.Error("none is parked: what is damaged?")
		}
		complete(t, e, f.flow, "sound", 0)
	})
}
