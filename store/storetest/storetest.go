package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
)

// Run checks a store against the contract. open returns an opener for a new,
// empty database; what it opens may be closed and opened again. Each check runs
// as a subtest with a database of its own. What needs several nodes is checked if
// the store is shared, and what needs a single one if it is not.
func Run(t *testing.T, open func(t *testing.T) store.Opener) {
	lists := [][]check{commitChecks, turnChecks, entityChecks, afterChecks, baseChecks, deleteChecks, runChecks, nodeChecks, tenureChecks, groupChecks, loadChecks, clientChecks, withinChecks,
		inboxChecks, readerChecks, ledgerChecks, tallyChecks, switchChecks, taskChecks, lifeChecks, listenChecks, raceChecks}
	f := start(t, open(t))
	info := f.store.Info()
	if info.Shared {
		lists = append(lists, leaseChecks, supersedeChecks)
	} else {
		lists = append(lists, aloneChecks)
	}
	if info.Closes {
		lists = append(lists, copyChecks)
	}
	if info.Wards {
		lists = append(lists, wardChecks)
	}
	if f.transacts() {
		lists = append(lists, transactionChecks)
	}
	for _, list := range lists {
		for _, c := range list {
			t.Run(c.name, func(t *testing.T) {
				f := start(t, open(t))
				f.fresh = func() store.Store { return (&fixture{T: t, opener: open(t)}).open() }
				c.test(f)
			})
		}
	}
}

// check is one statement of the contract.
type check struct {
	name string
	test func(f *fixture)
}

// fixture is an open database and a node that owns one partition of it.
type fixture struct {
	*testing.T
	opener    store.Opener
	fresh     func() store.Store // opens another, empty database
	store     store.Store
	group     store.Group // not the first one
	partition int         // the last of the group, which is never 0
	epoch     int64
	node      string
	renewals  int64
}

func start(t *testing.T, opener store.Opener) *fixture {
	t.Helper()
	f := &fixture{T: t, opener: opener}
	f.store = f.open()
	f.group = f.makeGroup("test group")
	f.partition = f.group.First + f.group.Partitions - 1
	f.join("node-1")
	return f
}

// open opens another handle, closed with the test.
func (f *fixture) open() store.Store {
	f.Helper()
	s := must(f.opener.Open(f.Context()))(f)
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Errorf("Close: %v", err)
		}
	})
	return s
}

// reopen closes our handle and opens another one.
func (f *fixture) reopen() {
	f.Helper()
	f.must(f.store.Close())
	f.store = f.open()
}

// describe describes a node of our group that nobody will take for dead.
func (f *fixture) describe(id string) store.Node {
	return store.Node{ID: id, Name: "name of " + id, Group: f.group.Name, Lease: time.Hour, Build: "the build", Definitions: `{"what":"é"}`}
}

// join makes a new node the owner, in the place of the one there was.
func (f *fixture) join(id string) {
	f.Helper()
	node := f.describe(id)
	node.Name, node.Supersede = "the node", true
	f.must(f.store.Join(f.Context(), node))
	f.node, f.renewals = id, 0
	f.claim()
}

// peer is another node, which owns nothing yet, with a handle of its own.
func (f *fixture) peer(node store.Node) *fixture {
	f.Helper()
	p := *f
	p.store, p.node, p.epoch, p.renewals = f.open(), node.ID, 0, 0
	f.must(p.store.Join(f.Context(), node))
	return &p
}

// claim raises the epoch.
func (f *fixture) claim() {
	f.Helper()
	owned := f.claims(f.partition)
	if len(owned) != 1 || owned[0].Epoch <= f.epoch || owned[0].Node != f.node || owned[0].Partition != f.partition {
		f.Fatalf("Claim after epoch %d answered %+v", f.epoch, owned)
	}
	f.epoch = owned[0].Epoch
}

// claims claims some partitions and returns which the node got.
func (f *fixture) claims(partitions ...int) []store.Ownership {
	f.Helper()
	return must(f.store.Claim(f.Context(), f.node, partitions))(f)
}

// renew is the node's next renewal.
func (f *fixture) renew() *store.Membership {
	f.Helper()
	return must(f.tryRenew())(f)
}

func (f *fixture) tryRenew() (*store.Membership, error) {
	f.renewals++
	return f.store.Renew(f.Context(), store.Renewal{Node: f.node, Last: f.renewals - 1, Next: f.renewals})
}

func (f *fixture) makeGroup(name string) store.Group {
	f.Helper()
	return must(f.store.Group(f.Context(), name))(f)
}

// elsewhere is a partition that belongs to another group and to no node.
func (f *fixture) elsewhere() int {
	f.Helper()
	return f.makeGroup("another group").First
}

// await demands that something becomes true, however slow the machine is.
func (f *fixture) await(what string, holds func() bool) {
	f.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.Fatalf("waited in vain: %s", what)
		}
	}
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// must returns what a verb of the store answered, and demands that it did: must(store.Nodes(ctx))(f).
func must[T any](answer T, err error) func(f *fixture) T {
	return func(f *fixture) T {
		f.Helper()
		f.must(err)
		return answer
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

// commit commits turns and returns the error of each.
func (f *fixture) commit(turns ...store.Turn) []error {
	f.Helper()
	result := must(f.store.Commit(f.Context(), turns))(f)
	if len(result.Errors) != len(turns) {
		f.Fatalf("%d answers to %d turns", len(result.Errors), len(turns))
	}
	return result.Errors
}

// commitAvailable is commit of one turn for a database on which others are at work: it is repeated, as
// the engine does, while the answer is that the database did not get to it.
func (f *fixture) commitAvailable(turn store.Turn) []error {
	f.Helper()
	for {
		if errs := f.commit(turn); !store.Unavailable(errs[0]) || !store.Undone(errs[0]) {
			return errs
		}
	}
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

// unblocked commits turns, again and again while a transaction that is about to be undone
// keeps one of them waiting: a server takes its time to notice that a connection was given up,
// and until then it holds its locks.
func (f *fixture) unblocked(turns ...store.Turn) []error {
	f.Helper()
	for {
		errs := f.commit(turns...)
		if !slices.ContainsFunc(errs, store.Unavailable) {
			return errs
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
		Partition: f.partition, ID: id, WorkflowID: "workflow of " + id, Type: "test", Group: f.group.Name,
		Chain: id, Attempt: 1, Start: []byte(`{"input":1}`), Created: 1_700_000_000_000_000_000, Priority: -3, Key: "ann", Weight: 4,
		Latest:   true, // as it will be read
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

// newRunOfChain describes the next run of a chain.
func (f *fixture) newRunOfChain(run store.Run) store.Run {
	next := f.newRun()
	next.WorkflowID, next.Chain = run.WorkflowID, run.Chain
	return next
}

// creation describes a turn that creates a run without a history.
func (f *fixture) creation(run store.Run) store.Turn {
	t := f.first(run)
	t.Number, t.Events, t.CommitID = 0, nil, 0
	return t
}

// closes ends a run with a turn of the given number.
func (f *fixture) closes(run store.Run, number int64, status store.Status) {
	f.Helper()
	t := f.turn(run, number)
	t.State = closed(status)
	f.commits(t)
}

// posts posts a message to the latest run of the workflow ID of a run.
func (f *fixture) posts(run store.Run, key string) {
	f.Helper()
	f.must(f.store.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: key}))
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
	return must(f.store.History(f.Context(), f.partition, run, 0, 0))(f)
}

func (f *fixture) calls(run string) []store.Call {
	f.Helper()
	return must(f.store.Calls(f.Context(), f.partition, run))(f)
}

func (f *fixture) attempts(run string) []store.Attempt {
	f.Helper()
	return must(f.store.Attempts(f.Context(), f.partition, run, store.AttemptRange{}))(f)
}

func (f *fixture) find(run string) store.Run {
	f.Helper()
	return *must(f.store.Find(f.Context(), f.partition, "", run))(f)
}

// latest is the latest run of a workflow ID.
func (f *fixture) latest(workflowID string) store.Run {
	f.Helper()
	return *must(f.store.Find(f.Context(), f.partition, workflowID, ""))(f)
}

// none demands that Find finds no run.
func (f *fixture) none(workflowID, run string) {
	f.Helper()
	_, err := f.store.Find(f.Context(), f.partition, workflowID, run)
	f.is(err, store.ErrNotFound)
}

func (f *fixture) load(run string) store.Record {
	f.Helper()
	return *must(f.store.Load(f.Context(), f.partition, run))(f)
}

func (f *fixture) counts(partitions []int, most int) store.Counts {
	f.Helper()
	return must(f.store.Counts(f.Context(), partitions, most))(f)
}

func (f *fixture) inbox(partitions ...int) []store.Message {
	f.Helper()
	if len(partitions) == 0 {
		partitions = []int{f.partition}
	}
	return f.readInbox(store.InboxRead{}, partitions...)
}

func (f *fixture) readInbox(read store.InboxRead, partitions ...int) []store.Message {
	f.Helper()
	return must(f.store.Inbox(f.Context(), partitions, read))(f)
}

func (f *fixture) owners() []store.Ownership {
	f.Helper()
	return must(f.store.Owners(f.Context(), f.partition))(f)
}

// survived tells of each epoch of our partition whether its node survived it.
func (f *fixture) survived() (list []bool) {
	f.Helper()
	for _, o := range f.owners() {
		list = append(list, o.Survived)
	}
	return list
}

// ended tells of each epoch of our partition whether the membership of its node was ended.
func (f *fixture) ended() (list []bool) {
	f.Helper()
	for _, o := range f.owners() {
		list = append(list, o.Ended)
	}
	return list
}

// member reads what is known of a node.
func (f *fixture) member(id string) store.Member {
	f.Helper()
	members := must(f.store.Nodes(f.Context()))(f)
	at := slices.IndexFunc(members, func(m store.Member) bool { return m.ID == id })
	if at < 0 {
		f.Fatalf("node %s is not among %+v", id, members)
	}
	return members[at]
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
	return must(f.store.Due(f.Context(), []int{f.partition}, after, until, limit))(f)
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
	if err == nil || store.Unavailable(err) || errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrStale) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrReplaced) {
		f.Fatalf("got %v, want an error that says what is wrong with the arguments", err)
	}
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
