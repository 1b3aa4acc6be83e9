package storetest

import (
	"slices"

	"github.com/perdure/perdure/store"
)

// entityChecks are about rows that are no workflows: gates.
var entityChecks = []check{
	{"Entity/HiddenUnlessAskedFor", func(f *fixture) {
		run, gate := f.created(), f.newEntity()
		t := f.creation(gate)
		t.Calls = []store.Call{{Number: 1, State: store.TicketWaiting}, {Number: 2, State: store.TicketHolding}, {Number: 3, State: store.TicketResting, Due: 7}}
		f.commits(t)
		f.commits(f.turn(run, 0, calling(store.Call{Number: 1, State: store.Gated})))
		equal(f, f.list(store.Filter{}), []string{run.ID})
		equal(f, f.list(store.Filter{Status: []store.Status{store.Running}}), []string{run.ID})
		equal(f, f.list(store.Filter{Status: []store.Status{store.Standing}}), []string{gate.ID})
		equal(f, f.list(store.Filter{Status: []store.Status{store.Standing}, Before: gate.ID}), nil)
		equal(f, f.counts([]int{f.partition}, 0), store.Counts{
			Runs: map[store.Status]int{store.Running: 1}, Calls: map[store.CallState]int{store.Gated: 1},
		})
		for range 3 { // more entities than are counted are no completed runs
			f.commits(f.creation(f.newEntity()))
		}
		equal(f, f.counts([]int{f.partition}, 2).Runs, map[store.Status]int{store.Running: 1})
	}},
	{"Entity/KeepsNotes", func(f *fixture) {
		gate := f.newEntity()
		t := f.creation(gate)
		t.Calls = []store.Call{{Number: -1, State: store.Noted, Data: []byte("{}")}, {Number: -2, State: store.Noted}, {Number: 1, State: store.TicketWaiting}}
		f.commits(t)
		later := f.turn(gate, 0)
		later.Calls, later.Closed, later.Repeatable = []store.Call{{Number: -3, State: store.Noted}}, []int64{-1}, true
		f.commits(later)
		numbers := each(f.load(gate.ID).Calls, func(c store.Call) int64 { return c.Number })
		slices.Sort(numbers)
		equal(f, numbers, []int64{-3, -2, 1})
	}},
	{"Entity/IsOpenAndHasAWakeTime", func(f *fixture) {
		gate := f.newEntity(waking(12345))
		f.commits(f.creation(gate))
		f.must(f.store.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: gate.WorkflowID, Run: gate.ID, Key: "k"}))
		equal(f, f.due(0, 12345, 0), []store.Wake{{Partition: f.partition, Run: gate.ID, Time: 12345}})
		equal(f, len(must(f.store.Ended(f.Context(), []store.RunRef{{Partition: f.partition, Run: gate.ID}}))(f)), 0)
	}},
	{"Entity/StandsNoMore", func(f *fixture) {
		run, gate := f.created(), f.newEntity(waking(12345))
		made := f.creation(gate, calling(store.Call{Number: 1, State: store.TicketWaiting}, store.Call{Number: 2, State: store.TicketHolding}))
		f.commits(made)
		f.must(f.store.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: gate.WorkflowID, Run: gate.ID, Key: "k"}))
		gone := f.turn(gate, 0)
		gone.Closed, gone.Remove, gone.Repeatable = []int64{1}, true, true
		gone.Messages = []store.Message{{Partition: f.partition, WorkflowID: run.WorkflowID, Run: run.ID, Key: "refused"}}
		late := gone
		late.Epoch--
		f.is(f.commit(late)[0], store.ErrFenced)
		equal(f, f.list(store.Filter{Status: []store.Status{store.Standing}}), []string{gate.ID})
		f.commits(gone, gone)
		f.commits(gone) // whose answer was lost
		equal(f, f.list(store.Filter{Status: []store.Status{store.Standing}}), nil)
		f.none(gate.WorkflowID, "")
		f.is(errorOf(f.store.Load(f.Context(), f.partition, gate.ID)), store.ErrNotFound)
		equal(f, len(f.calls(gate.ID)), 0)
		equal(f, len(f.due(0, 12345, 0)), 0)
		equal(f, len(f.inbox()), 2) // what was said to it waits for the next one

		made.Calls = made.Calls[:1]
		f.commits(made)
		equal(f, len(f.calls(gate.ID)), 1)

		f.commits(f.turn(run, 0, func(t *store.Turn) { t.Remove = true })) // which is none of those
		equal(f, f.find(run.ID).ID, run.ID)
		spoiled(f, gone, func(t store.Turn) error { return f.commit(t)[0] },
			func(t *store.Turn) { t.Number, t.Events = 5, []byte("x") },
			ending(store.Completed),
			calling(store.Call{Number: 1, State: store.TicketWaiting}),
			func(t *store.Turn) { t.Run = "" },
		)
	}},
	{"Entity/RepeatableTurnsMayHaveMessages", func(f *fixture) {
		run := f.created()
		t := f.turn(run, 0, calling(store.Call{Number: 4, State: store.Gated}),
			sending(store.Message{Partition: f.partition, WorkflowID: "a gate", Key: "enter"}))
		f.malformed(f.commit(t)[0])
		equal(f, len(f.calls(run.ID)), 0)
		t.Repeatable = true
		f.commits(t, t) // while it waits it is one
		inbox := f.inbox()
		equal(f, len(inbox), 1)
		f.commits(f.turn(run, 0, consuming(inbox...)))
		f.commits(t)
		equal(f, len(f.inbox()), 1)
		t.Hook = func(any) error { return nil }
		f.malformed(f.commit(t)[0])
	}},
	{"Entity/MessagesOfOneSenderKeepTheirOrder", func(f *fixture) {
		run := f.created()
		var want []string
		for i := range 30 {
			want = append(want, string(rune('A'+i)))
			t := f.turn(run, 0, sending(store.Message{Partition: f.partition, WorkflowID: "a gate", Key: want[i]}))
			t.Repeatable = true
			f.commits(t)
		}
		equal(f, keys(f.inbox()), want)
	}},
}

// newEntity describes an entity that is not a workflow.
func (f *fixture) newEntity(differs ...func(r *store.Run)) store.Run {
	return f.newRun(append(differs, func(r *store.Run) { r.Status = store.Standing })...)
}
