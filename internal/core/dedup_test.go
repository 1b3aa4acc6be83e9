package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
)

// TestE11_ARunForgetsNoID of a signal, however many others came.
func TestE11_ARunForgetsNoID(t *testing.T) {
	var s idSet
	s.add("", 1)
	if s.has("") {
		t.Error("the empty ID is one")
	}
	const more = 3 * maxHandedOn
	id := func(i int) string { return fmt.Sprint("id-", i) }
	for i := range more {
		if s.has(id(i)) {
			t.Fatalf("%s is known already", id(i))
		}
		s.add(id(i), int64(i))
		s.add(id(i), int64(i)+1) // again: changes nothing
	}
	for i := range more {
		if !s.has(id(i)) {
			t.Fatalf("%s is forgotten", id(i))
		}
	}
}

// TestE99_YoungKeysAreHandedOn however many they are, through several runs; of older ones
// as many as there is room for.
func TestE99_YoungKeysAreHandedOn(t *testing.T) {
	const many = maxHandedOn + 5000
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	run := func(c *history.Carried, now time.Duration) *Run {
		r := New(Config{}, history.Start{Run: "run", Created: begin, Carried: c})
		r.journal.now = begin + int64(now)
		return r
	}
	r := run(nil, 0)
	for i := range many {
		r.journal.now = begin + int64(i)*int64(time.Millisecond)
		r.signals.ids.add(signalKey("paid", fmt.Sprint(i)), r.journal.now)
		r.facts.chainOperationIDs.add(fmt.Sprint(i), r.journal.now)
		r.facts.updates.put(fmt.Sprint(i), acceptance{"run", 1}, r.journal.now)
	}
	for _, hop := range []struct {
		at             time.Duration
		signals, fewer int // that are known, and updates
	}{
		{many * time.Millisecond, many, many},
		{30 * time.Minute, many, many},
		{time.Hour + 2*time.Second, many - 2001, many - 2001}, // the first two seconds are older now
		{time.Hour + 10*time.Second, maxHandedOn, many - 10001},
		{2 * time.Hour, maxHandedOn, maxUpdates},
		{3 * time.Hour, maxHandedOn, maxUpdates},
	} {
		r.journal.now = begin + int64(hop.at)
		next := run(r.facts.carry(), hop.at)
		if s, d, u := len(next.signals.ids.order), len(next.facts.chainOperationIDs.order), len(next.facts.updates.order); s != hop.signals || d != hop.signals || u != hop.fewer {
			t.Fatalf("after %s the next run knows %d signals, %d operations and %d updates, want %d and %d", hop.at, s, d, u, hop.signals, hop.fewer)
		}
		if !next.signals.ids.has(signalKey("paid", fmt.Sprint(many-1))) {
			t.Fatalf("after %s the latest is not known", hop.at)
		}
		r = next
	}
}

// TestE99_WhatCannotBeHandedOnIsRefused: a run that came to the limit of young keys takes no
// signals until a fifth of them is old, which it notices by itself, and no updates.
func TestE99_WhatCannotBeHandedOnIsRefused(t *testing.T) {
	defer func(was int) { maxYoung = was }(maxYoung)
	maxYoung = 10
	r := New(Config{}, history.Start{Run: "run"})
	r.journal.now = int64(24 * time.Hour)
	r.settleAlone()
	for i := range maxYoung {
		if r.State().Full {
			t.Fatalf("it is full after %d", i)
		}
		r.journal.now += int64(time.Minute)
		r.signals.ids.add(fmt.Sprint(i), r.journal.now)
		r.facts.updates.put(fmt.Sprint(i), acceptance{"run", 1}, r.journal.now)
		r.settleAlone()
	}
	if !r.State().Full {
		t.Fatal("it takes more")
	}
	r.journal.out = &Turn{}
	r.handleUpdate(UpdateArrived{Name: "add", ID: "one more", Asker: "somebody"})
	if len(r.journal.out.Replies) != 1 || r.journal.out.Replies[0].Failure.TypeName() != "perdure.LimitError" {
		t.Errorf("an update more was answered %+v", r.journal.out.Replies)
	}
	second := int64(24*time.Hour) + int64(2*time.Minute)
	if at := r.NextDue(); at != second+int64(KeepKeys) {
		t.Fatalf("it looks again %s after the second key, want %s", time.Duration(at-second), KeepKeys)
	}
	r.journal.now = r.NextDue()
	r.settleAlone()
	if r.State().Full || r.NextDue() != Never {
		t.Error("when a fifth is old it takes no more")
	}
}

// settleAlone works out the run's row as at the end of a step.
func (r *Run) settleAlone() {
	r.journal.out = &Turn{}
	r.updateState()
}
