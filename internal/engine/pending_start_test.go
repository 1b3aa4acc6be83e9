package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/workflow"
)

// oldVersion is a database of which a node can read no start message, as one that was
// built before there was a field of it.
type oldVersion struct{ store.Opener }

func (o oldVersion) Open(ctx context.Context) (store.Store, error) {
	inner, err := o.Opener.Open(ctx)
	return oldReader{inner}, err
}

type oldReader struct{ store.Store }

func (o oldReader) Inbox(ctx context.Context, partitions []int, read store.InboxRead) ([]store.Message, error) {
	messages, err := o.Store.Inbox(ctx, partitions, read)
	for i := range messages {
		if messages[i].Kind == "start" {
			messages[i].Data = []byte("a newer version's")
		}
	}
	return messages, err
}

// TestE40_WhatComesForAChildThatCannotBeginWaits: a node cannot read what begins a
// child. What the child is told waits with that, until a node comes that can.
func TestE40_WhatComesForAChildThatCannotBeginWaits(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		parent := workflow.New("parent", func(wf *workflow.Context, _ int) (string, error) {
			workflow.StartDetachedAsync(wf, collector, collected{Each: 1, All: 2}, workflow.ChildID("hears"))
			workflow.RunChildAsync(wf, napper, time.Hour, workflow.ChildID("ends"), workflow.OnParentClose(workflow.ParentCloseTerminate))
			for n := range 2 {
				if err := errors.Join(workflow.Sleep(wf, time.Minute), workflow.Send(wf, "hears", number, n)); err != nil {
					return "", err
				}
			}
			return "", nil
		})
		definitions := []any{parent, napper, collector.Impl(collect)}
		clean := w.db
		w.db = oldVersion{clean}
		e := w.start(definitions...)
		complete(t, e, parent, "p", 0)
		pass(time.Hour)
		for _, id := range []string{"hears", "ends"} {
			if _, err := e.Describe(t.Context(), id, ""); !errors.Is(err, store.ErrNotFound) {
				t.Fatalf("%s has begun: %v", id, err)
			}
		}
		w.kill(e)
		w.db = clean
		e = w.start(definitions...)
		pass(time.Minute)
		same(t, "the one", describe(t, e, "hears").Status, "completed") // so it has got both
		same(t, "the other one", describe(t, e, "ends").Status, "terminated")
	})
}

// TestE44_ARivalThatBeginsHearsItsParent: of two starts under one ID the first cannot be
// written. The second begins, and gets the messages that its parent sent before that was
// decided.
func TestE44_ARivalThatBeginsHearsItsParent(t *testing.T) {
	inBothModes(t, func(t *testing.T, w *world) {
		w.log = &record{}
		database := &scripted{inner: slowOwners{w.db}}
		w.db = database
		e := w.open(w.config(napper))
		input, err := history.Encode(time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		starts := func(run string) *history.Start {
			return &history.Start{
				WorkflowID: "x", Run: run, Type: napper.Name(), Chain: run, Attempt: 1, Input: input, Created: here(),
				Parent: &history.Parent{WorkflowID: "of " + run, Run: "of " + run, Call: 1},
			}
		}
		database.before(func(turns []store.Turn) error {
			for _, turn := range turns {
				if turn.Run == "first" && turn.Create != nil {
					return errors.New("this one cannot be written")
				}
			}
			return nil
		})
		for _, m := range []core.Message{
			{WorkflowID: "x", Run: "first", Start: starts("first")},
			{WorkflowID: "x", Run: "second", Start: starts("second")},
			{WorkflowID: "x", Input: core.Control{Operation: core.CancelTheRun, Reason: "the parent has ended", Chain: "second"}},
		} {
			if err := engine.Tell(e, m); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		d := describe(t, e, "x")
		same(t, "who began, and what became of it", d.RunID+" "+d.Status, "second canceled")
	})
}

// slowOwners is a database that takes its time to tell who owned a partition, so that
// the inbox is read before a run begins.
type slowOwners struct{ store.Opener }

func (s slowOwners) Open(ctx context.Context) (store.Store, error) {
	inner, err := s.Opener.Open(ctx)
	return slowlyOwned{inner}, err
}

type slowlyOwned struct{ store.Store }

func (s slowlyOwned) Owners(ctx context.Context, partition int) ([]store.Ownership, error) {
	time.Sleep(time.Second)
	return s.Store.Owners(ctx, partition)
}
