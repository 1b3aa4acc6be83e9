package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/goldenfile"
	"github.com/perdure/perdure/store"
)

// TestE141_WhatTheServerDoesForAnAttemptInAQueue counts it, alone and a hundred together, and
// holds the table of docs/scaling.md to it. The documents are as long as engines make them.
func TestE141_WhatTheServerDoesForAnAttemptInAQueue(t *testing.T) {
	w, ear := batched(t)

	most := map[int][]int64{1: {1700, 1100, 800, 850}, 100: {160_000, 112_000, 92_000, 70_000}} // bytes of WAL
	var table strings.Builder
	table.WriteString("| of an attempt in a queue | by | round trips | statements | of these write | WAL, at most | of 100 together, each at most |\n|---|---|---|---|---|---|---|\n")
	var one, many []phase
	for range 10 { // how much is written ahead differs a little: the least counts
		one, many = least(one, w.attemptInQueue(ear, 1)), least(many, w.attemptInQueue(ear, 100))
	}
	for i, p := range one {
		if p.wal > most[1][i] || many[i].wal > most[100][i] {
			t.Errorf("%s: %d bytes were written ahead, and %d is the bound; of a hundred %d, and %d", p.name, p.wal, most[1][i], many[i].wal, most[100][i])
		}
		fmt.Fprintf(&table, "| %s | %s | %d bytes | %d bytes |\n", p.name, p.counted, most[1][i], most[100][i]/100)
	}
	goldenfile.Section(t, "../../docs/scaling.md", "<!-- tasks -->\n", "<!-- /tasks -->", table.String())
}

// phase is a part of the life of an attempt.
type phase struct {
	name, counted string
	wal           int64
}

func least(a, b []phase) []phase {
	for i := range a {
		if a[i].wal < b[i].wal {
			b[i].wal = a[i].wal
		}
	}
	return b
}

// attemptInQueue lets the first calls of so many runs go through a queue.
func (w *world) attemptInQueue(ear *batches, n int) (phases []phase) {
	w.Helper()
	doc := func(n int) []byte { return []byte(`{"v":1,"e":[` + strings.Repeat("x", n-40) + `],"crc":1234567890}`) }
	measure := func(name, by string, f func()) {
		ear.sent = nil
		before := w.wal()
		f()
		wal := w.wal() - before
		cells := strings.Split(describeBatches(ear.sent, nil), " | ")
		phases = append(phases, phase{name, by + " | " + strings.Join(cells[:3], " | "), wal})
	}
	_, err := w.Attend(w.Context(), store.Worker{ID: "worker/6011e45a", Name: "worker", Lease: 1 << 50, Serves: []byte(`{}`)})
	w.must(err)
	var runs []store.Run
	var begins, offers []store.Turn
	for range n {
		r := w.newRun()
		r.ID = fmt.Sprintf("0192f000-0000-7000-8000-%012d", w.runs)
		r.Chain, r.WorkflowID = r.ID, fmt.Sprintf("order-%06d", w.runs)
		offer := w.turn(r, 2)
		offer.Events = doc(165)
		offer.Calls = []store.Call{{Partition: r.Partition, Run: r.ID, Number: 1, State: store.Offered, Name: "charge", Queue: "gpu", Attempt: 1, Data: doc(85)}}
		offer.Offered = []store.Task{{TaskRef: store.TaskRef{Number: 1, Attempt: 1}, WorkflowID: r.WorkflowID, Queue: "gpu", Name: "charge", Offered: 1, Data: doc(150)}}
		runs, begins, offers = append(runs, r), append(begins, w.first(r)), append(offers, offer)
	}
	w.commits(begins...)
	measure("offered, with the turn that makes the call", "owner", func() { w.commits(offers...) })
	var claimed []store.Task
	measure("claimed", "worker", func() {
		claimed, err = w.ClaimTasks(w.Context(), store.TaskClaim{Worker: "worker/6011e45a", Partitions: store.Group{Partitions: 4}, Queue: "gpu", Names: []string{"charge"}, Turns: store.Turns{Limit: n}})
		w.must(err)
	})
	var settled []store.SettledTask
	for _, c := range claimed {
		settled = append(settled, store.SettledTask{TaskRef: c.TaskRef, Message: store.Message{
			Partition: c.Partition, WorkflowID: c.WorkflowID, Run: c.Run, Kind: "attempt", Key: "attempt/36:" + c.Run + "/1:1/1:1/3:end", Data: doc(70),
		}})
	}
	measure("ended", "worker", func() {
		errs, err := w.SettleTasks(w.Context(), "worker/6011e45a", settled)
		w.must(err)
		for _, err := range errs {
			w.must(err)
		}
	})
	sequences := map[string][]int64{}
	messages, err := w.Inbox(w.Context(), []int{0, 1, 2, 3}, store.InboxRead{Limit: 1000})
	w.must(err)
	for _, m := range messages {
		sequences[m.Run] = append(sequences[m.Run], m.Sequence)
	}
	var ends []store.Turn
	for _, r := range runs {
		end := w.turn(r, 3)
		end.Events, end.Closed = doc(165), []int64{1}
		end.Over, end.Consumed = []store.TaskRef{{Number: 1, Attempt: 1}}, sequences[r.ID]
		ends = append(ends, end)
	}
	measure("taken, with the next turn", "owner", func() { w.commits(ends...) })
	return phases
}
