package commit

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/store"
)

var errRefused = &store.UnavailableError{Op: "commit", Err: errors.New("permission denied for table tasks"), Refused: true, Undone: true}

// TestI9_ARefusedStatementCostsItsTurn: a turn whose statement the database refuses again,
// while it takes those of others, is told; the others are durable, and there is no outage.
func TestI9_ARefusedStatementCostsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(store.Info{}, func(turns []store.Turn) (store.Result, error) {
			r := durable(turns)
			for i := range turns {
				if turns[i].Run == "b" {
					r.Errors[i] = errRefused
				}
			}
			return r, nil
		})
		began := time.Now()
		got := b.commitAll(turn("a"), turn("b"), turn("c"))
		if got[0] != nil || got[2] != nil || !errors.Is(got[1], errRefused) || !strings.Contains(got[1].Error(), "refused the turn") {
			t.Errorf("the results are %v", got)
		}
		b.demandCommits(t, "a b c", "b")
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
		if away, back := b.outages(); away != 0 || back != 0 {
			t.Errorf("%d outages, %d ends", away, back)
		}
	})
}

// TestE64_WhatTheDatabaseRefusesToAllIsWaitedFor: a right that was taken away, or a table, is
// a fault of the database and of no run. Health tells the reason, and all go on once it is
// back.
func TestE64_WhatTheDatabaseRefusesToAllIsWaitedFor(t *testing.T) {
	for _, whole := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			mended := time.Now().Add(time.Minute)
			b := newBench(store.Info{}, func(turns []store.Turn) (store.Result, error) {
				if time.Now().After(mended) {
					return durable(turns), nil
				}
				if whole {
					return store.Result{}, errRefused
				}
				return store.Result{Errors: slices.Repeat([]error{errRefused}, len(turns))}, nil
			})
			time.AfterFunc(30*time.Second, func() {
				if err := b.Watch.Err(); !errors.Is(err, errRefused) {
					t.Errorf("Health says %v", err)
				}
			})
			for i, err := range b.commitAll(turn("a"), turn("b"), turn("c")) {
				if err != nil {
					t.Errorf("turn %d: %v", i, err)
				}
			}
			if away, back := b.outages(); away != 1 || back != 1 {
				t.Errorf("%d outages, %d ends", away, back)
			}
		})
	}
}
