package storetest

import (
	"github.com/perdure/perdure/store"
)

// entityChecks are about rows that are no workflows: gates.
var entityChecks = []check{
	{"Entity/HiddenUnlessAskedFor", func(f *fixture) {
		run, gate := f.created(), f.newEntity()
		t := f.first(gate)
		t.Number, t.Events, t.CommitID = 0, nil, 0
		t.Calls = []store.Call{{Number: 1, State: store.TicketWaiting}, {Number: 2, State: store.TicketHolding}, {Number: 3, State: store.TicketResting, Due: 7}}
		f.commits(t)
		waiting := f.turn(run, 0)
		waiting.Calls = []store.Call{{Number: 1, State: store.Gated}}
		f.commits(waiting)
		equal(f, f.list(store.Filter{}), []string{run.ID})
		equal(f, f.list(store.Filter{Status: []store.Status{store.Running}}), []string{run.ID})
		equal(f, f.list(store.Filter{Status: []store.Status{store.Standing}}), []string{gate.ID})
		equal(f, f.list(store.Filter{Status: []store.Status{store.Standing}, Before: gate.ID}), nil)
		counts, err := f.store.Counts(f.Context(), []int{f.partition})
		f.must(err)
		equal(f, counts, store.Counts{
			Runs: map[store.Status]int{store.Running: 1}, Calls: map[store.CallState]int{store.Gated: 1},
		})
	}},
	{"Entity/IsOpenAndHasAWakeTime", func(f *fixture) {
		gate := f.newEntity()
		gate.Wake = 12345
		t := f.first(gate)
		t.Number, t.Events, t.CommitID = 0, nil, 0
		f.commits(t)
		f.must(f.store.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: gate.WorkflowID, Run: gate.ID, Key: "k"}))
		due, err := f.store.Due(f.Context(), []int{f.partition}, 0, 12345, 0)
		f.must(err)
		equal(f, due, []store.Wake{{Partition: f.partition, Run: gate.ID, Time: 12345}})
		ended, err := f.store.Ended(f.Context(), []store.RunRef{{Partition: f.partition, Run: gate.ID}})
		f.must(err)
		equal(f, len(ended), 0)
	}},
	{"Entity/RepeatableTurnsMayHaveMessages", func(f *fixture) {
		run := f.created()
		t := f.turn(run, 0)
		t.Calls = []store.Call{{Number: 4, State: store.Gated}}
		t.Messages = []store.Message{{Partition: f.partition, WorkflowID: "a gate", Key: "enter"}}
		f.malformed(f.commit(t)[0])
		equal(f, len(f.calls(run.ID)), 0)
		t.Repeatable = true
		f.commits(t, t) // while it waits it is one
		inbox := f.inbox()
		equal(f, len(inbox), 1)
		eat := f.turn(run, 0)
		eat.Consumed = []int64{inbox[0].Sequence}
		f.commits(eat)
		f.commits(t)
		equal(f, len(f.inbox()), 1)
		t.Hook = func(any) error { return nil }
		f.malformed(f.commit(t)[0])
	}},
	{"Entity/MessagesOfOneSenderKeepTheirOrder", func(f *fixture) {
		run := f.created()
		var want []string
		for i := range 30 {
			t := f.turn(run, 0)
			t.Repeatable = true
			t.Messages = []store.Message{{Partition: f.partition, WorkflowID: "a gate", Key: string(rune('A' + i))}}
			f.commits(t)
			want = append(want, t.Messages[0].Key)
		}
		var got []string
		for _, m := range f.inbox() {
			got = append(got, m.Key)
		}
		equal(f, got, want)
	}},
}

// newEntity describes an entity that is no workflow.
func (f *fixture) newEntity() store.Run {
	gate := f.newRun()
	gate.Status = store.Standing
	return gate
}
