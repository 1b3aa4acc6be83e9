package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// TestE93_StartsOfOthersAreAdmittedInBounds: many more runs are started by a transaction
// than a node works on at a time. Those that wait are rows: no goroutine belongs to them, and all
// come to their end.
func TestE93_StartsOfOthersAreAdmittedInBounds(t *testing.T) {
	const atWork, starts, page = 50, 1500, 500
	needsTransactions.inBothModes(t, func(t *testing.T, w *world) {
		if !w.in.onDisk {
			t.Skip("Memory has no transactions, in which so many starts become visible together.")
		}
		var most atomic.Int64
		var e *engine.Engine
		def := workflow.New("counted", func(wf *workflow.Context, n int) (int, error) {
			for now := int64(engine.AtWork(e)); ; {
				before := most.Load()
				if now <= before || most.CompareAndSwap(before, now) {
					return n, nil
				}
			}
		})
		c := w.config(def)
		c.MaxAtWork = atWork
		e = w.startWith(c)
		input, err := history.Encode(1)
		if err != nil {
			t.Fatal(err)
		}
		err = e.Transact(t.Context(), func(ctx context.Context, tx any) error {
			for i := range starts {
				if _, _, err := e.StartRunWithin(ctx, tx, request.Start{WorkflowID: fmt.Sprint(i), Type: def.Name(), Input: input}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		for i := range starts {
			if d := describe(t, e, fmt.Sprint(i)); d.Status != view.StatusCompleted {
				t.Fatalf("run %d is %s", i, d.Status)
			}
		}
		if n := most.Load(); n >= atWork+page {
			t.Errorf("%d runs were worked on at a time", n)
		}
	})
}

// TestE93_WhatWasLeftIsReadAgain: a look that finds the node no longer crowded does not forget that an
// earlier one has left messages.
func TestE93_WhatWasLeftIsReadAgain(t *testing.T) {
	needsNothing.inBothModes(t, func(t *testing.T, w *world) {
		c := w.config()
		c.MaxAtWork = 4
		e := w.startWith(c)
		for _, step := range []struct {
			busy          int
			crowded, full bool
		}{{3, false, false}, {4, true, true}, {3, false, true}} {
			if crowded, full := engine.CrowdedAt(e, step.busy); crowded != step.crowded || full != step.full {
				t.Errorf("with %d at work it is crowded: %t, and to be read again: %t", step.busy, crowded, full)
			}
		}
	})
}
