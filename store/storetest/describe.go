package storetest

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/store"
)

// changed is what is described, with what is different in it.
func changed[T any](it T, differs ...func(it *T)) T {
	for _, change := range differs {
		change(&it)
	}
	return it
}

// describe describes a node of our group that nobody will take for dead, and what is different in this one.
func (f *fixture) describe(id string, differs ...func(n *store.Node)) store.Node {
	node := store.Node{ID: id, Name: "name of " + id, Group: f.group.Name, Lease: time.Hour, Build: "the build", Definitions: `{"what":"é"}`}
	return changed(node, differs...)
}

// superseding is a node that takes the place of the one there was.
func superseding(n *store.Node) { n.Name, n.Supersede = "the node", true }

// leased is a node with a lease.
func leased(lease time.Duration) func(n *store.Node) { return func(n *store.Node) { n.Lease = lease } }

// grouped is a node of another group.
func grouped(group store.Group) func(n *store.Node) {
	return func(n *store.Node) { n.Group = group.Name }
}

var lastID atomic.Int64

// newRun describes a run, running and hot, with IDs of its own, and what is different in this one.
func (f *fixture) newRun(differs ...func(r *store.Run)) store.Run {
	id := fmt.Sprintf("run-%08d", lastID.Add(1))
	return changed(store.Run{
		Partition: f.partition, ID: id, WorkflowID: "workflow of " + id, Type: "test", Group: f.group.Name,
		Chain: id, Attempt: 1, Start: []byte(`{"input":1}`), Created: 1_700_000_000_000_000_000, Priority: -3, Key: "ann", Weight: 4,
		Latest:   true, // as it will be read
		RunState: store.RunState{Status: store.Running, Wake: store.Hot},
	}, differs...)
}

// turn describes a turn of a run, with what it writes besides its history.
func (f *fixture) turn(run store.Run, number int64, writes ...func(t *store.Turn)) store.Turn {
	return changed(store.Turn{
		Partition: f.partition, Epoch: f.epoch, Run: run.ID, Number: number, CommitID: 1000 + number,
		Time: 1_700_000_000_000_000_000 + number, Events: fmt.Appendf(nil, `[{"turn":%d}]`, number),
	}, writes...)
}

// first describes the first turn of a run, which creates it.
func (f *fixture) first(run store.Run, writes ...func(t *store.Turn)) store.Turn {
	return f.turn(run, 1, append(writes, creating(run))...)
}

// created commits a run with its first turn.
func (f *fixture) created(differs ...func(r *store.Run)) store.Run {
	f.Helper()
	run := f.newRun(differs...)
	f.commits(f.first(run))
	return run
}

// started is a run that a client has created.
func (f *fixture) started(differs ...func(r *store.Run)) store.Run {
	f.Helper()
	run := f.newRun(differs...)
	f.must(f.store.Create(f.Context(), run))
	return run
}

// in is a run of another partition.
func in(partition int) func(r *store.Run) { return func(r *store.Run) { r.Partition = partition } }

// waking is a run with a wake time.
func waking(at int64) func(r *store.Run) { return func(r *store.Run) { r.Wake = at } }

// rivaling is a run with the workflow ID of another one.
func rivaling(run store.Run) func(r *store.Run) {
	return func(r *store.Run) { r.WorkflowID = run.WorkflowID }
}

// following is the next run of a chain.
func following(run store.Run) func(r *store.Run) {
	return func(r *store.Run) { r.WorkflowID, r.Chain = run.WorkflowID, run.Chain }
}

// creation describes a turn that creates a run without a history.
func (f *fixture) creation(run store.Run, writes ...func(t *store.Turn)) store.Turn {
	t := f.first(run, writes...)
	t.Number, t.Events, t.CommitID = 0, nil, 0
	return t
}

// closes ends a run with a turn of the given number.
func (f *fixture) closes(run store.Run, number int64, status store.Status) {
	f.Helper()
	f.commits(f.turn(run, number, ending(status)))
}

// posts posts a message to the latest run of the workflow ID of a run.
func (f *fixture) posts(run store.Run, key string) {
	f.Helper()
	f.must(f.store.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: key}))
}

// under is a turn under an epoch.
func under(epoch int64) func(t *store.Turn) { return func(t *store.Turn) { t.Epoch = epoch } }

// creating is a turn that creates a run.
func creating(run store.Run) func(t *store.Turn) { return func(t *store.Turn) { t.Create = &run } }

// stating is a turn that says the state of its run.
func stating(state store.RunState) func(t *store.Turn) {
	return func(t *store.Turn) { t.State = &state }
}

// ending is a turn that closes its run.
func ending(status store.Status) func(t *store.Turn) { return stating(closed(status)) }

// continuing is a turn that closes its run and creates the next one.
func continuing(next store.Run) func(t *store.Turn) {
	state := closed(store.Continued)
	return func(t *store.Turn) { t.State, t.Create = &state, &next }
}

// calling is a turn that writes calls.
func calling(calls ...store.Call) func(t *store.Turn) {
	return func(t *store.Turn) { t.Calls = calls }
}

// attempting is a turn that writes attempts.
func attempting(attempts ...store.Attempt) func(t *store.Turn) {
	return func(t *store.Turn) { t.Attempts = attempts }
}

// sending is a turn that sends messages.
func sending(messages ...store.Message) func(t *store.Turn) {
	return func(t *store.Turn) { t.Messages = messages }
}

// consuming is a turn that has read messages.
func consuming(messages ...store.Message) func(t *store.Turn) {
	return func(t *store.Turn) { t.Consumed = each(messages, func(m store.Message) int64 { return m.Sequence }) }
}

// counting is a turn that adds to counters.
func counting(tallies ...store.Tally) func(t *store.Turn) {
	return func(t *store.Turn) { t.Tallies = tallies }
}

// closed is the state of a run that has ended.
func closed(status store.Status) store.RunState {
	return store.RunState{Status: status, Wake: store.Never, Closed: 1_700_000_000_000_000_999, Detail: []byte(`"done"`)}
}

func row(t store.Turn) store.TurnRow {
	return store.TurnRow{Number: t.Number, CommitID: t.CommitID, Epoch: t.Epoch, Time: t.Time, Events: t.Events}
}
