package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
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

// join makes a new node the owner, in the place of the one there was.
func (f *fixture) join(id string) {
	f.Helper()
	f.must(f.store.Join(f.Context(), f.describe(id, superseding)))
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

// well is must in a goroutine beside the test: it reports whether there is no error.
func (f *fixture) well(err error) bool {
	f.Helper()
	if err != nil {
		f.Error(err)
	}
	return err == nil
}

// errorOf is the error of a verb whose answer does not matter.
func errorOf[T any](_ T, err error) error { return err }

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

// tried commits turns, in any goroutine, and returns what went wrong with any of them.
func (f *fixture) tried(turns ...store.Turn) error {
	result, err := f.store.Commit(f.Context(), turns)
	return errors.Join(append(result.Errors, err)...)
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
	f.is(errorOf(f.store.Find(f.Context(), f.partition, workflowID, run)), store.ErrNotFound)
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
func (f *fixture) survived() []bool {
	f.Helper()
	return each(f.owners(), func(o store.Ownership) bool { return o.Survived })
}

// ended tells of each epoch of our partition whether the membership of its node was ended.
func (f *fixture) ended() []bool {
	f.Helper()
	return each(f.owners(), func(o store.Ownership) bool { return o.Ended })
}

// left demands that a node is no member any more and owns nothing, and returns what is known of it.
func (f *fixture) left(id string) store.Member {
	f.Helper()
	m := f.member(id)
	if m.Live || m.Left <= 0 || m.Left < m.Joined || m.Owned != 0 {
		f.Errorf("a node that left is %+v", m)
	}
	return m
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
	return each(messages, func(m store.Message) string { return m.Key })
}

// each is what is asked for of every element of a list, in its order; nil of none.
func each[T, U any](list []T, of func(T) U) (all []U) {
	for _, element := range list {
		all = append(all, of(element))
	}
	return all
}

func (f *fixture) due(after, until int64, limit int) []store.Wake {
	f.Helper()
	return must(f.store.Due(f.Context(), []int{f.partition}, after, until, limit))(f)
}

// conflict demands a ConflictError about the run that has the workflow ID.
func (f *fixture) conflict(err error, existing store.Run) {
	f.Helper()
	c, is := errors.AsType[*store.ConflictError](err)
	if !is {
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

// spoiled demands that a verb refuses what it takes otherwise as malformed, spoiled in each of some ways.
func spoiled[T any](f *fixture, good T, ask func(bad T) error, spoils ...func(bad *T)) {
	f.Helper()
	for _, spoil := range spoils {
		f.malformed(ask(changed(good, spoil)))
	}
}

// atOnce calls do for 0 to n-1 at the same time, and returns when all calls have.
func atOnce(n int, do func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { do(i) })
	}
	wg.Wait()
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
