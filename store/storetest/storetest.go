package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/store"
)

// Run checks a store against the contract. open returns an opener for a new,
// empty database; what it opens may be closed and opened again. Each check runs
// as a subtest with a database of its own.
func Run(t *testing.T, open func(t *testing.T) store.Opener) {
	for _, group := range [][]check{commitChecks, turnChecks, runChecks, ownerChecks, clientChecks, inboxChecks, readerChecks, lifeChecks, listenChecks} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) { c.test(start(t, open(t))) })
		}
	}
}

// check is one statement of the contract.
type check struct {
	name string
	test func(f *fixture)
}

// fixture is an open database of which we own one partition.
type fixture struct {
	*testing.T
	opener    store.Opener
	store     store.Store
	partition int // the last one, which is not 0 if there are several
	epoch     int64
	node      string
}

func start(t *testing.T, opener store.Opener) *fixture {
	t.Helper()
	f := &fixture{T: t, opener: opener}
	f.store = f.open()
	f.partition = f.store.Info().Partitions - 1
	f.join("node-1")
	return f
}

// open opens another handle, closed with the test.
func (f *fixture) open() store.Store {
	f.Helper()
	s, err := f.opener.Open(f.Context())
	f.must(err)
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Errorf("Close: %v", err)
		}
	})
	return s
}

// join makes a new node the owner.
func (f *fixture) join(node string) {
	f.Helper()
	f.must(f.store.Join(f.Context(), store.Node{ID: node, Name: "test " + node}))
	f.node = node
	f.claim()
}

// claim raises the epoch.
func (f *fixture) claim() {
	f.Helper()
	owned, err := f.store.Claim(f.Context(), f.node, []int{f.partition})
	f.must(err)
	if len(owned) != 1 || owned[0].Epoch <= f.epoch || owned[0].Node != f.node || owned[0].Partition != f.partition {
		f.Fatalf("Claim after epoch %d answered %+v", f.epoch, owned)
	}
	f.epoch = owned[0].Epoch
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// is demands an error, by errors.Is; nil is none.
func (f *fixture) is(got, want error) {
	f.Helper()
	if !errors.Is(got, want) {
		f.Fatalf("got error %v, want %v", got, want)
	}
}

// equal demands deep equality.
func equal[T any](f *fixture, got, want T) {
	f.Helper()
	if !reflect.DeepEqual(got, want) {
		f.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

// commit commits turns and answers the error of each.
func (f *fixture) commit(turns ...store.Turn) []error {
	f.Helper()
	result, err := f.store.Commit(f.Context(), turns)
	f.must(err)
	if len(result.Errors) != len(turns) {
		f.Fatalf("%d answers to %d turns", len(result.Errors), len(turns))
	}
	return result.Errors
}

// commits demands that every turn becomes durable.
func (f *fixture) commits(turns ...store.Turn) {
	f.Helper()
	for i, err := range f.commit(turns...) {
		if err != nil {
			f.Fatalf("turn %d of the batch: %v", i, err)
		}
	}
}

// refuses demands that a single turn is refused with an error that is about it.
func (f *fixture) refuses(turn store.Turn, want error) {
	f.Helper()
	f.is(f.commit(turn)[0], want)
}

var lastID atomic.Int64

// newRun describes a run, running and hot, with IDs of its own.
func (f *fixture) newRun() store.Run {
	id := fmt.Sprintf("run-%08d", lastID.Add(1))
	return store.Run{
		Partition: f.partition, ID: id, WorkflowID: "workflow of " + id, Type: "test", Group: "default",
		Chain: id, Attempt: 1, Start: []byte(`{"input":1}`), Created: 1_700_000_000_000_000_000,
		RunState: store.RunState{Status: store.Running, Wake: store.Hot},
	}
}

// turn describes a turn of a run.
func (f *fixture) turn(run store.Run, number int64) store.Turn {
	return store.Turn{
		Partition: f.partition, Epoch: f.epoch, Run: run.ID, Number: number, CommitID: 1000 + number,
		Time: 1_700_000_000_000_000_000 + number, Events: fmt.Appendf(nil, `[{"turn":%d}]`, number),
	}
}

// first describes the first turn of a run, which creates it.
func (f *fixture) first(run store.Run) store.Turn {
	t := f.turn(run, 1)
	t.Create = &run
	return t
}

// created commits a run with its first turn.
func (f *fixture) created() store.Run {
	f.Helper()
	run := f.newRun()
	f.commits(f.first(run))
	return run
}

// closed is the state of a run that has ended.
func closed(status store.Status) *store.RunState {
	return &store.RunState{Status: status, Wake: store.Never, Closed: 1_700_000_000_000_000_999, Detail: []byte(`"done"`)}
}

func row(t store.Turn) store.TurnRow {
	return store.TurnRow{Number: t.Number, CommitID: t.CommitID, Epoch: t.Epoch, Time: t.Time, Events: t.Events}
}

func (f *fixture) history(run string) []store.TurnRow {
	f.Helper()
	turns, err := f.store.History(f.Context(), f.partition, run, 0, 0)
	f.must(err)
	return turns
}

func (f *fixture) calls(run string) []store.Call {
	f.Helper()
	calls, err := f.store.Calls(f.Context(), f.partition, run)
	f.must(err)
	return calls
}

func (f *fixture) attempts(run string) []store.Attempt {
	f.Helper()
	attempts, err := f.store.Attempts(f.Context(), f.partition, run, 0)
	f.must(err)
	return attempts
}

func (f *fixture) find(run string) store.Run {
	f.Helper()
	found, err := f.store.Find(f.Context(), f.partition, "", run)
	f.must(err)
	return *found
}

func (f *fixture) inbox() []store.Message {
	f.Helper()
	messages, err := f.store.Inbox(f.Context(), f.partition, 0, 0)
	f.must(err)
	return messages
}

// keys lists the keys of waiting messages, in order.
func keys(messages []store.Message) []string {
	var keys []string
	for _, m := range messages {
		keys = append(keys, m.Key)
	}
	return keys
}

func (f *fixture) due(after, until int64, limit int) []store.Wake {
	f.Helper()
	wakes, err := f.store.Due(f.Context(), f.partition, after, until, limit)
	f.must(err)
	return wakes
}

// conflict demands a ConflictError about the run that has the workflow ID.
func (f *fixture) conflict(err error, existing store.Run) {
	f.Helper()
	var c *store.ConflictError
	if !errors.As(err, &c) {
		f.Fatalf("got %v, want a ConflictError", err)
	}
	equal(f, c.Existing, existing)
}

// malformed demands an error about the arguments, none of the named ones.
func (f *fixture) malformed(err error) {
	f.Helper()
	if err == nil || store.Unavailable(err) || errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrStale) || errors.Is(err, store.ErrNotFound) {
		f.Fatalf("got %v, want an error that says what is wrong with the arguments", err)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
