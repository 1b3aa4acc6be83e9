package storetest

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/store"
	"pgregory.net/rapid"
)

// A small world makes operations meet.
var (
	anAttribute = rapid.SampledFrom([]store.Attribute{{Name: "city", Value: "Lyon"}, {Name: "city", Value: "Oslo"}, {Name: "tier", Value: "Lyon"}})
	aRunName    = rapid.SampledFrom([]string{"r1", "r2", "r3", "r4", "r5", "r6"})
	aWorkflow   = rapid.SampledFrom([]string{"w1", "w2", "w3"})
	aStatus     = rapid.SampledFrom([]store.Status{store.Running, store.Running, store.Parked, store.Completed, store.Continued})
	aWake       = rapid.SampledFrom([]int64{store.Hot, store.Hot, store.Never, 10, 20, 30, store.InLine(0, 5000), store.InLine(7, 9000), store.InLineByKey, store.InLineByKey})
	someBytes   = rapid.SampledFrom([][]byte{nil, []byte("text"), {0xff, 0}, []byte("ü")})
	aWord       = rapid.SampledFrom([]string{"", "a", "b"})
	someOf      = rapid.SampledFrom([][]int{{0}, {1}, {0, 1}, {1, 0, 1}, {}}) // the partitions, in any order
	anID        = rapid.Custom(func(t *rapid.T) string { return aRun(t, aPartition(t), "run") })
	anOutcome   = rapid.SampledFrom([]string{"failed", store.OutcomeCompleted})
)

func aState(t *rapid.T) store.RunState {
	s := store.RunState{Status: aStatus.Draw(t, "status"), Wake: aWake.Draw(t, "wake"), Detail: someBytes.Draw(t, "detail"), Full: rapid.IntRange(0, 3).Draw(t, "full") == 0}
	if !s.Status.Open() {
		s.Closed = 99
	}
	return s
}

// runID is the ID of a run, of which each partition has its own.
func runID(partition int, name string) string { return fmt.Sprint(name, "-", partition) }

func aRun(t *rapid.T, partition int, label string) string {
	return runID(partition, aRunName.Draw(t, label))
}

func aPartition(t *rapid.T) int { return rapid.SampledFrom(worldPartitions).Draw(t, "partition") }

func aSet(t *rapid.T) []int { return someOf.Draw(t, "partitions") }

// maybe is half of the time the zero value, which asks for nothing.
func maybe[T any](of *rapid.Generator[T]) *rapid.Generator[T] {
	var none T
	return rapid.OneOf(rapid.Just(none), of)
}

func aNewRun(t *rapid.T, partition int) store.Run {
	id, workflow := aRun(t, partition, "run"), aWorkflow.Draw(t, "workflow")
	// Chains are few too, so that they are sometimes continued.
	return store.Run{Base: aBase(t), Partition: partition, ID: id, WorkflowID: workflow, Type: "type of " + workflow, Chain: "chain of " + workflow, Attempt: 1,
		Start: someBytes.Draw(t, "start"), Created: rapid.Int64Range(6, 8).Draw(t, "created"), RunState: aState(t), Priority: rapid.IntRange(-1, 1).Draw(t, "priority"), Key: rapid.SampledFrom([]string{"", "k", "key"}).Draw(t, "run key"), Weight: rapid.IntRange(0, 2).Draw(t, "weight"),
		Attributes: rapid.SliceOfN(anAttribute, 0, 2).Draw(t, "attributes")}
}

// aBase is a history to begin with, of which there is not always so much.
func aBase(t *rapid.T) *store.Base {
	if rapid.IntRange(0, 3).Draw(t, "based") > 0 {
		return nil
	}
	partition, turns := aPartition(t), rapid.Int64Range(0, 2).Draw(t, "copied")
	return &store.Base{
		RunRef: store.RunRef{Partition: partition, Run: aRun(t, partition, "base")}, Turns: turns,
		Last: store.TurnRow{Number: turns + 1, Time: 5, Events: someBytes.Draw(t, "last")},
	}
}

func aMessage(t *rapid.T) store.Message {
	m := store.Message{Partition: aPartition(t), WorkflowID: aWorkflow.Draw(t, "to"), Key: rapid.SampledFrom([]string{"k1", "k2", "k3"}).Draw(t, "key"), Data: someBytes.Draw(t, "data")}
	m.IfRoom = rapid.Bool().Draw(t, "if there is room")
	if rapid.IntRange(0, 3).Draw(t, "direct") == 0 {
		m.Run = aRun(t, m.Partition, "only")
	}
	return m
}

func (l *lockstep) aTurn(t *rapid.T) store.Turn {
	if len(l.sent) > 0 && rapid.IntRange(0, 4).Draw(t, "again") == 0 {
		return rapid.SampledFrom(l.sent).Draw(t, "repeated")
	}
	partition := aPartition(t)
	turn := store.Turn{
		Partition: partition,
		Epoch:     l.epochs[partition] + rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 0, -1, 1}).Draw(t, "epoch"),
		Run:       aRun(t, partition, "run"),
		Number:    rapid.SampledFrom([]int64{0, 1, 1, 2, 2, 3}).Draw(t, "number"),
		Time:      5, Events: someBytes.Draw(t, "events"),
		CommitID: rapid.Int64Range(1, 2).Draw(t, "commit"),
	}
	some := func(what string, n int) bool { return rapid.IntRange(0, n).Draw(t, what) == 0 }
	if some("create", 1) {
		run := aNewRun(t, partition)
		turn.Create = &run
		if !some("successor", 2) {
			turn.Run = run.ID
		}
	}
	if some("state", 1) {
		state := aState(t)
		turn.State = &state
	}
	if turn.Number > 0 && some("attributes", 3) {
		all := rapid.SliceOfN(anAttribute, 0, 2).Draw(t, "attributes")
		turn.Attributes = &all
	}
	for some("call", 2) {
		number := rapid.Int64Range(1, 3).Draw(t, "call")
		turn.Calls = append(turn.Calls, store.Call{Number: number, First: rapid.Int64Range(0, number-1).Draw(t, "first"), Due: rapid.Int64Range(0, 3).Draw(t, "due"),
			State: rapid.SampledFrom([]store.CallState{store.Queued, store.Backoff}).Draw(t, "state")})
	}
	for some("close", 2) {
		turn.Closed = append(turn.Closed, rapid.Int64Range(1, 3).Draw(t, "closed"))
	}
	for some("attempt", 2) {
		a := store.Attempt{Call: rapid.Int64Range(1, 2).Draw(t, "of"), Number: rapid.IntRange(1, 4).Draw(t, "attempt"), Data: someBytes.Draw(t, "data"),
			Name: aWord.Draw(t, "name"), Outcome: anOutcome.Draw(t, "outcome"), ErrorType: aWord.Draw(t, "error"), Ended: rapid.Int64Range(0, 3).Draw(t, "ended")}
		if some("prune", 2) {
			a.Prune = rapid.IntRange(0, a.Number-1).Draw(t, "prune")
		}
		turn.Attempts = append(turn.Attempts, a)
	}
	for turn.Number > 0 && some("tally", 2) {
		turn.Tallies = append(turn.Tallies, store.Tally{TallyKey: store.TallyKey{Bucket: rapid.Int64Range(0, 2).Draw(t, "bucket"), Type: aWorkflow.Draw(t, "type"), Name: rapid.OneOf(aWorkflow, rapid.Just("")).Draw(t, "name"), Took: rapid.Int64Range(0, 2).Draw(t, "took")},
			Started: 3, FirstTry: rapid.Int64Range(0, 3).Draw(t, "first tries"), Attempts: 1, Retrying: 5})
	}
	for some("consume", 2) {
		turn.Consumed = append(turn.Consumed, rapid.Int64Range(1, 10).Draw(t, "consumed"))
	}
	for some("message", 2) {
		turn.Messages = append(turn.Messages, aMessage(t))
	}
	if some("hook", 5) {
		fails := some("fails", 1)
		turn.Hook = func(any) error {
			if fails {
				return errors.New("refused")
			}
			return nil
		}
	}
	return turn
}
