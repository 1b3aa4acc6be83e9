package postgres

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/perdure/perdure/store"
)

// TestE61_APageOfFewPlaces: of 256 partitions, each is asked for a few rows of a page first. When all
// rows lie in four of them, the page is as if each had been asked for all of it.
func TestE61_APageOfFewPlaces(t *testing.T) {
	w := newWorld(t, Partitions(256))
	const runs, page = 200, 60
	if n := few(page, 256); n > page/4 {
		t.Fatalf("a partition is asked for %d of %d rows, so none can exceed it", n, page)
	}
	for i := range runs {
		turn := w.first(w.newRun())
		turn.Attempts = []store.Attempt{{Call: 1, Number: 1, Name: "charge", Outcome: "failed", ErrorType: fmt.Sprint("Error", i%3), Started: 1, Ended: int64(10 + i)}}
		w.commits(turn)
	}
	four := []int{0, 1, 2, 3}
	for _, status := range [][]store.Status{nil, {store.Running}, {store.Running, store.Completed}} {
		want, err := w.List(t.Context(), store.Filter{Partitions: four, Status: status, Limit: page})
		w.must(err)
		got, err := w.List(t.Context(), store.Filter{Status: status, Limit: page})
		w.must(err)
		if len(want) != page || want[0].ID != fmt.Sprintf("run-%06d", runs) || want[page-1].ID != fmt.Sprintf("run-%06d", runs-page+1) || !reflect.DeepEqual(got, want) {
			t.Errorf("of status %v: %d runs, and of the four partitions %d", status, len(got), len(want))
		}
	}
	want, err := w.Ledger(t.Context(), store.LedgerFilter{Partitions: four, Limit: page})
	w.must(err)
	got, err := w.Ledger(t.Context(), store.LedgerFilter{Limit: page})
	w.must(err)
	if len(want) != page || want[page-1].Ended != 10+runs-page || !reflect.DeepEqual(got, want) {
		t.Errorf("%d records, and of the four partitions %d", len(got), len(want))
	}
	errors, err := w.Errors(t.Context(), store.LedgerFilter{Limit: page})
	w.must(err)
	sum := 0
	for _, e := range errors {
		sum += e.Attempts
	}
	if sum != page {
		t.Errorf("%d failed attempts are summed up, and %d are the latest", sum, page)
	}
}

// TestE61_CountsUpToANumber: up to whatever number runs are counted, what is below it is exact.
func TestE61_CountsUpToANumber(t *testing.T) {
	w := newWorld(t)
	for i := range 120 {
		r := w.newRun()
		turn := w.first(r)
		if r.Status = []store.Status{store.Running, store.Completed, store.Failed, store.Completed, store.Canceled, store.Completed}[i%6]; !r.Status.Open() {
			r.Closed = 9
		}
		turn.State = &r.RunState
		w.commits(turn)
	}
	for _, most := range []int{0, 1, 19, 20, 21, 40, 59, 60, 61, 100, 500} {
		want := store.Counts{Runs: map[store.Status]int{store.Running: 20, store.Completed: 60, store.Failed: 20, store.Canceled: 20}}
		want.Bound(most)
		for _, partitions := range [][]int{nil, {0, 1, 2, 3}} {
			got, err := w.Counts(t.Context(), partitions, most)
			w.must(err)
			if !reflect.DeepEqual(got.Runs, want.Runs) {
				t.Errorf("up to %d: %v, and it is to be %v", most, got.Runs, want.Runs)
			}
		}
	}
}
