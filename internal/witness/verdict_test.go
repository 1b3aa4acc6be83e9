package witness

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/memory"
)

// worked is a case of a load that nobody hurt.
func worked(t *testing.T) Case {
	t.Helper()
	b, err := OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	pen, err := NewPen(b.Address(), "the engine")
	if err != nil {
		t.Fatal(err)
	}
	db := memory.New()
	e, err := perdure.Open(t.Context(), db, Definitions(pen), Serves(4), perdure.Concurrency(16), perdure.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := &Load{Engine: e, Book: b, Seed: 1}
	l.Begin(t.Context())
	for l.Finished() < 100 {
		if t.Context().Err() != nil {
			t.Fatal("the load does not move")
		}
		time.Sleep(time.Millisecond)
	}
	c := l.End()
	c.Limits = map[string]int{"the engine": 4}
	return c
}

// TestP5_TheVerdictFindsWhatIsWrong: nothing in a load that nobody hurt; and if the book is
// forged, what is wrong then, of the kind that it is.
func TestP5_TheVerdictFindsWhatIsWrong(t *testing.T) {
	c := worked(t)
	if v := c.Judge(t.Context(), nil); len(v.Found) > 0 || v.Tally.Runs != len(c.Runs) || v.Tally.Activities < 200 || v.Tally.Signals == 0 || v.Tally.Timers == 0 || v.Tally.Gates == 0 || v.Tally.Queue == 0 || v.Tally.Attempts["completed"] == 0 {
		t.Fatalf("of a load that nobody hurt: %+v, %+v", v.Tally, v.Found)
	}
	// The last completed body of the workflow sequence: there is nothing behind it.
	last := func(entries []Entry, phase string) int {
		at := -1
		for i, e := range entries {
			if e.Phase == phase && e.Step == "s4" {
				at = i
			}
		}
		return at
	}
	for name, forgery := range map[string]struct {
		kind  Kind
		says  string
		forge func(c *Case)
	}{
		"an effect that is on record did not happen": {Lost, "on record as completed and not in the book", func(c *Case) {
			e := c.Entries[last(c.Entries, Begin)]
			c.Entries = slices.DeleteFunc(c.Entries, func(o Entry) bool { return o.Attempt == e.Attempt })
		}},
		"an effect happened that is not on record": {Doubled, "in the book and not on record", func(c *Case) {
			e := c.Entries[last(c.Entries, Begin)]
			e.Attempt, e.Number = "another one", e.Number+1
			c.Entries = append(c.Entries, e)
		}},
		"an attempt ran twice": {Doubled, "ran twice", func(c *Case) {
			c.Entries = append(c.Entries, c.Entries[last(c.Entries, Begin)])
		}},
		"a step ran again behind a later one": {Doubled, "again after a later one", func(c *Case) {
			later := slices.IndexFunc(c.Entries, func(e Entry) bool { return e.Phase == Begin && e.Step == "s3" })
			i := slices.IndexFunc(c.Entries, func(e Entry) bool {
				return e.Phase == Begin && e.Step == "s0" && e.Workflow == c.Entries[later].Workflow
			})
			e := c.Entries[i]
			e.Number, e.Attempt = 2, "another one"
			c.Entries = slices.Insert(c.Entries, later+1, e)
			c.Closed = maps.Clone(c.Closed)
			delete(c.Closed, e.Key) // else it is found for that
		}},
		"a call was charged twice": {Doubled, "was charged 2 times", func(c *Case) {
			i := slices.IndexFunc(c.Entries, func(e Entry) bool { return e.Phase == Charged })
			c.Entries = append(c.Entries, c.Entries[i])
		}},
		"a call was not charged": {Lost, "was not charged", func(c *Case) {
			i := slices.IndexFunc(c.Entries, func(e Entry) bool { return e.Phase == Charged })
			c.Entries = slices.Delete(c.Entries, i, i+1)
		}},
		"a client found something": {Wrong, "the result", func(c *Case) {
			c.Found = append(c.Found, Finding{Wrong, "the result is 2, want 1"})
		}},
		"more of a key are behind a gate than may": {Wrong, "bodies run at gate passage of key", func(c *Case) {
			first := slices.IndexFunc(c.Entries, func(e Entry) bool { return isNarrow(e) && e.Phase == Begin })
			key := KeyOf(c.Entries[first].Workflow)
			later := first + 1 + slices.IndexFunc(c.Entries[first+1:], func(e Entry) bool { return isNarrow(e) && e.Phase == Begin && KeyOf(e.Workflow) == key })
			e := c.Entries[later] // it begins together with the first
			c.Entries = slices.Insert(slices.Delete(c.Entries, later, later+1), first, e)
		}},
		"more are behind a gate than may": {Wrong, "bodies run at gate", func(c *Case) {
			var more []Entry
			for _, e := range c.Entries {
				if isNarrow(e) && e.Phase == Begin && len(more) <= passes {
					more = append(more, e)
				}
			}
			for _, e := range more { // all begin before any ends
				i := slices.IndexFunc(c.Entries, func(o Entry) bool { return o == e })
				c.Entries = slices.Delete(c.Entries, i, i+1)
			}
			c.Entries = slices.Concat(more, c.Entries)
		}},
	} {
		forged := c
		forged.Entries = slices.Clone(c.Entries)
		forgery.forge(&forged)
		v := forged.Judge(t.Context(), nil)
		if !slices.ContainsFunc(v.Found, func(f Finding) bool { return f.Kind == forgery.kind && strings.Contains(f.What, forgery.says) }) {
			t.Errorf("%s: found %v", name, v.Found)
		}
	}
}

// TestP5_TheBookKnowsWhenNothingMoved: the longest pause, which may be the present one.
func TestP5_TheBookKnowsWhenNothingMoved(t *testing.T) {
	b := &Book{told: map[string]int{}, latest: time.Now()}
	b.still = Pause{From: b.latest.Add(-time.Hour), For: time.Minute}
	if p := b.Longest(); p.For != time.Minute {
		t.Errorf("the longest pause is %+v", p)
	}
	b.latest = time.Now().Add(-time.Hour)
	if p := b.Longest(); p.For < time.Hour || !p.From.Equal(b.latest) {
		t.Errorf("the longest pause is %+v, though nothing came for an hour", p)
	}
}

// TestP5_KindsOfErrors: an end that did not come is a loss, however it is told.
func TestP5_KindsOfErrors(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		err  error
		kind Kind
	}{
		{t.Context(), io.ErrUnexpectedEOF, Wrong},
		{ended, io.ErrUnexpectedEOF, Lost},
		{t.Context(), perdure.ErrNotFound, Lost},
		{t.Context(), found(Doubled, "twice"), Doubled},
		{ended, found(amiss(-1), "one is missing"), Lost},
		{t.Context(), found(amiss(0), "the order is wrong"), Wrong},
	} {
		if got := kindOf(c.ctx, c.err); got != c.kind {
			t.Errorf("%v is %s, want %s", c.err, got, c.kind)
		}
	}
}
