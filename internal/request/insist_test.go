package request

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

// asking is a verb of store.Client as requests use it.
type asking struct {
	verb string
	ask  func(ctx context.Context, d Database) error
	// twice says that asking again does nothing twice.
	twice bool
	// ends says that it asks a run to end.
	ends bool
}

var all = store.Group{Partitions: 1}

func (w *insisted) askings() []asking {
	signal := func(id string) store.Message {
		m, err := message.Request(all, "w", "", &core.Control{Operation: core.SignalTheRun, Signal: "paid", SignalID: id})
		if err != nil {
			w.Fatal(err)
		}
		return m
	}
	post := func(m store.Message) func(context.Context, Database) error {
		return func(ctx context.Context, d Database) error { return d.Post(ctx, m) }
	}
	command, err := message.Request(all, "w", "", &core.Control{Operation: core.CancelTheRun})
	if err != nil {
		w.Fatal(err)
	}
	return []asking{
		{"Group", func(ctx context.Context, d Database) error { _, err := d.Group(ctx, "another"); return err }, true, false},
		{"Create", func(ctx context.Context, d Database) error { return d.Create(ctx, aRun("new")) }, true, false},
		{"Post", post(signal("")), false, false},
		{"Post", post(signal("17")), true, false},
		{"Post", post(command), true, true},
		{"Take", func(ctx context.Context, d Database) error { _, err := d.Take(ctx, 0, "w"); return err }, false, false},
		{"Switch", func(ctx context.Context, d Database) error {
			_, err := d.Switch(ctx, store.Switch{Kind: store.SwitchActivity, Name: "charge", Request: "1"})
			return err
		}, true, false},
		{"Delete", func(ctx context.Context, d Database) error {
			_, err := d.Delete(ctx, store.Deletion{Runs: []string{"none"}})
			return err
		}, true, false},
		{"Transact", func(ctx context.Context, d Database) error {
			return d.Transact(ctx, func(any) error { return nil })
		}, false, false},
	}
}

func aRun(id string) store.Run {
	return store.Run{ID: id, WorkflowID: id, Type: "test", Chain: id, Attempt: 1, RunState: store.RunState{Status: store.Running}}
}

// insisted is a database with planned faults and a run with the workflow ID w.
type insisted struct {
	*testing.T
	plan *faulty.Plan
	db   Database
	stop func()
}

// transacting is a store with transactions, which memory has not.
type transacting struct{ store.Store }

func (transacting) Transact(_ context.Context, f func(any) error) error { return f(nil) }

type transactingOpener struct{ store.Opener }

func (o transactingOpener) Open(ctx context.Context) (store.Store, error) {
	s, err := o.Opener.Open(ctx)
	return transacting{s}, err
}

// eachAsking runs a test for each verb, in virtual time.
func eachAsking(t *testing.T, test func(w *insisted, a asking)) {
	n := len((&insisted{T: t}).askings())
	for i := range n {
		a := (&insisted{T: t}).askings()[i]
		t.Run(fmt.Sprint(i, a.verb), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &insisted{T: t, plan: faulty.NewPlan()}
				s, err := faulty.Wrap(transactingOpener{memory.New()}, w.plan).Open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Create(t.Context(), aRun("w")); err != nil {
					t.Fatal(err)
				}
				closed := make(chan struct{})
				w.db, w.stop = insistent{s, closed}, func() { close(closed) }
				test(w, a)
			})
		})
	}
}

func TestE84_WhatWroteNothingIsTriedAgain(t *testing.T) {
	eachAsking(t, func(w *insisted, a asking) {
		w.plan.At(w.plan.Writes()+1, faulty.FailBefore).At(w.plan.Writes()+2, faulty.CutOff(5*time.Second))
		if err := a.ask(w.Context(), w.db); err != nil {
			w.Errorf("%v after %q", err, w.plan.Ops())
		}
	})
}

func TestE84_WhatLostItsAnswerIsTriedAgainIfThatDoesNothingTwice(t *testing.T) {
	eachAsking(t, func(w *insisted, a asking) {
		w.plan.At(w.plan.Writes()+1, faulty.FailAfter)
		before := w.plan.Writes()
		err := a.ask(w.Context(), w.db)
		tries := w.plan.Writes() - before
		switch {
		case a.twice && (err != nil || tries != 2):
			w.Errorf("%v after %d tries", err, tries)
		case !a.twice && (tries != 1 || store.Undone(err) || !store.Unavailable(err) || !strings.Contains(err.Error(), "whether it was written is not known")):
			w.Errorf("%v after %d tries", err, tries)
		}
	})
}

// The first copy of a message may have ended the run before the second one comes.
func TestE84_ARefusalAfterALostAnswerIsNoProof(t *testing.T) {
	eachAsking(t, func(w *insisted, a asking) {
		if a.verb != "Post" || !a.twice {
			return
		}
		w.plan.At(w.plan.Writes()+1, faulty.FailAfter)
		d := w.db.(insistent)
		d.Database = &closing{Database: d.Database}
		err := a.ask(w.Context(), d)
		if a.ends && err != nil || !a.ends && (!errors.Is(err, store.ErrClosed) || !strings.Contains(err.Error(), "is not known")) {
			w.Errorf("got %v", err)
		}
	})
}

// A run that had ended before it was asked to end was not ended by the request.
func TestE84_ARequestToEndWhatHasEndedIsRefused(t *testing.T) {
	eachAsking(t, func(w *insisted, a asking) {
		if !a.ends {
			return
		}
		d := w.db.(insistent)
		d.Database = &over{Database: d.Database}
		if err := a.ask(w.Context(), d); !errors.Is(err, store.ErrClosed) {
			w.Errorf("got %v", err)
		}
	})
}

// over has a run that has ended. The first answer is lost.
type over struct {
	Database
	asked bool
}

func (o *over) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	row, err := o.Database.Find(ctx, partition, workflowID, run)
	if row != nil {
		row.Status = store.Completed
	}
	return row, err
}

func (o *over) Post(context.Context, store.Message) error {
	if !o.asked {
		o.asked = true
		return &store.UnavailableError{Op: "Post", Err: errors.New("the answer is lost")}
	}
	return store.ErrClosed
}

// A run that is asked to end may have made room for another one when the second copy of
// the request comes.
func TestE84_ARequestToEndIsForOneChain(t *testing.T) {
	eachAsking(t, func(w *insisted, a asking) {
		if !a.ends {
			return
		}
		w.plan.At(w.plan.Writes()+1, faulty.FailAfter)
		d := w.db.(insistent)
		other := &replacing{Database: d.Database}
		d.Database = other
		if err := a.ask(w.Context(), d); err != nil || other.posted != 1 {
			w.Errorf("%d copies, %v", other.posted, err)
		}
	})
}

// replacing has a run that ends after the first message, when another one begins.
type replacing struct {
	Database
	posted int
}

func (r *replacing) Post(ctx context.Context, m store.Message) error {
	r.posted++
	return r.Database.Post(ctx, m)
}

func (r *replacing) Find(ctx context.Context, partition int, workflowID, run string) (*store.Run, error) {
	found, err := r.Database.Find(ctx, partition, workflowID, run)
	if err == nil && r.posted > 0 {
		found.ID, found.Chain = "another", "another"
	}
	return found, err
}

// closing has a run that ends after the first message.
type closing struct {
	Database
	posted bool
}

func (c *closing) Post(ctx context.Context, m store.Message) error {
	if c.posted {
		return store.ErrClosed
	}
	c.posted = true
	return c.Database.Post(ctx, m)
}

func TestE84_TheErrorSaysWhetherItWasWritten(t *testing.T) {
	ends := map[string]struct {
		end   func(ctx context.Context, w *insisted) (context.Context, context.CancelFunc)
		cause error
		takes time.Duration
	}{
		"no deadline": {func(ctx context.Context, w *insisted) (context.Context, context.CancelFunc) { return ctx, func() {} }, nil, InsistTime},
		"deadline": {func(ctx context.Context, w *insisted) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Minute)
		}, context.DeadlineExceeded, time.Minute},
		"closed": {func(ctx context.Context, w *insisted) (context.Context, context.CancelFunc) {
			time.AfterFunc(time.Second, w.stop)
			return ctx, func() {}
		}, ErrStopped, time.Second},
	}
	for name, end := range ends {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprint(name, lost), func(t *testing.T) {
				eachAsking(t, func(w *insisted, a asking) {
					if lost && !a.twice {
						return // it is not tried again
					}
					if next := w.plan.Writes() + 1; lost {
						w.plan.At(next, faulty.FailAfter).At(next+1, faulty.CutOff(time.Hour))
					} else {
						w.plan.Outage(true)
					}
					ctx, cancel := end.end(w.Context(), w)
					defer cancel()
					began := time.Now()
					err := a.ask(ctx, w.db)
					if !store.Unavailable(err) || end.cause != nil && !errors.Is(err, end.cause) {
						w.Fatalf("got %v", err)
					}
					if store.Undone(err) == lost || strings.Contains(err.Error(), "nothing was written") == lost {
						w.Errorf("lost: %v, and the error says %v", lost, err)
					}
					if took := time.Since(began); took < end.takes || took > end.takes+longPause {
						w.Errorf("it insisted for %s", took)
					}
				})
			})
		}
	}
}

func TestE84_EveryVerbThatWritesIsTriedAgain(t *testing.T) {
	others := []string{"Secret", "Within"} // one reads, the other asks nothing
	for method := range reflect.TypeFor[store.Client]().Methods() {
		tested := slices.ContainsFunc((&insisted{T: t}).askings(), func(a asking) bool { return a.verb == method.Name })
		if tested == slices.Contains(others, method.Name) {
			t.Errorf("%s: is it tried again, and may it be?", method.Name)
		}
	}
}
