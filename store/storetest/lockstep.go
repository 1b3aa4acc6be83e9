package storetest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/perdure/perdure/store"
	"pgregory.net/rapid"
)

// Checks sets how many random programs a test plays that has properties, 100 by default.
func Checks(t *testing.T, n int) {
	t.Helper()
	checks := flag.Lookup("rapid.checks").Value.String()
	t.Cleanup(func() { flag.Set("rapid.checks", checks) })
	if err := flag.Set("rapid.checks", strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
}

// Lockstep plays the same random operations against two stores and demands the
// same returns. Each opener function returns a new, empty database with one
// partition a group and the given clock. One node is there at a time, and no lease
// runs out: what several nodes do to each other is for Run to check.
func Lockstep(t *testing.T, reference, subject func(t *rapid.T, clock func() int64) store.Opener) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &lockstep{T: rt, ctx: context.Background(), now: 1_000}
		for i, opener := range []store.Opener{reference(rt, l.clock), subject(rt, l.clock)} {
			l.openers[i] = opener
			l.open(i)
		}
		defer func() {
			for _, s := range l.stores {
				s.Close()
			}
		}()
		both(l, "Group", func(s store.Store) (store.Group, error) { return s.Group(l.ctx, worldGroup) })
		l.join()
		rt.Repeat(map[string]func(*rapid.T){
			"Commit":  l.commit,
			"Create":  l.create,
			"Post":    l.post,
			"Take":    l.take,
			"Claim":   func(t *rapid.T) { l.claim(aSet(t)) },
			"Release": l.release,
			"Renew":   l.renew,
			"Reopen":  func(*rapid.T) { l.reopen() },
			"Leave":   l.leave,
			"Clock":   func(t *rapid.T) { l.now += rapid.Int64Range(-500, 1_000).Draw(t, "by") },
			"List":    l.list,
			"Due":     l.due,
			"Line":    l.line,
			"History": l.page,
			"Counts":  l.counts,
			"Ledger":  l.ledger,
			"Compare": func(*rapid.T) { l.compare() },
		})
		l.compare()
	})
}

// The world has two groups of one partition each; the node serves the second.
const worldGroup = "a group"

var worldPartitions = []int{0, 1}

type lockstep struct {
	*rapid.T
	ctx     context.Context
	openers [2]store.Opener
	stores  [2]store.Store
	now     int64
	epochs  [2]int64 // of each partition
	nodes   int
	joined  bool
	sent    []store.Turn // for repetition
}

func (l *lockstep) clock() int64 { return l.now }

func (l *lockstep) open(i int) {
	s, err := l.openers[i].Open(l.ctx)
	if err != nil {
		l.Fatal(err)
	}
	l.stores[i] = s
}

// both asks both stores and compares what they say, errors by their kind.
func both[T any](l *lockstep, what string, ask func(s store.Store) (T, error)) T {
	var answers [2]T
	var said [2]string
	for i, s := range l.stores {
		answer, err := ask(s)
		answers[i] = answer
		said[i] = fmt.Sprintf("%+v, error: %s", any(answer), kind(err))
	}
	if said[0] != said[1] {
		l.Fatalf("%s:\nreference %s\nsubject   %s", what, said[0], said[1])
	}
	return answers[0]
}

// kind names an error so that those of two stores can be compared.
func kind(err error) string {
	for _, known := range []error{store.ErrFenced, store.ErrStale, store.ErrNotFound, store.ErrClosed, store.ErrStoreClosed, store.ErrReplaced} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if err == nil {
		return "none"
	}
	if conflict, is := errors.AsType[*store.ConflictError](err); is {
		return "conflict with " + conflict.Existing.ID
	}
	if _, is := errors.AsType[*store.HookError](err); is {
		return "hook"
	}
	return "other"
}

// node names the nodes that were and are there; the last one is the node.
func node(n int) string { return fmt.Sprint("node-", n) }

func (l *lockstep) join() {
	l.nodes++
	both(l, "Join", func(s store.Store) (any, error) {
		return nil, s.Join(l.ctx, store.Node{ID: node(l.nodes), Name: "the node", Group: worldGroup, Lease: time.Hour, Supersede: true})
	})
	l.joined = true
	l.claim(worldPartitions)
}

func (l *lockstep) claim(partitions []int) {
	if !l.joined {
		l.join()
		return
	}
	owned := both(l, "Claim", func(s store.Store) ([]store.Ownership, error) { return s.Claim(l.ctx, node(l.nodes), partitions) })
	for _, o := range owned {
		l.epochs[o.Partition] = o.Epoch
	}
}

func (l *lockstep) release(t *rapid.T) {
	who, partitions := l.aNode(t), aSet(t)
	both(l, fmt.Sprint("Release by ", who, partitions), func(s store.Store) (any, error) { return nil, s.Release(l.ctx, who, partitions) })
}

// aNode is mostly the node, and sometimes one that was there.
func (l *lockstep) aNode(t *rapid.T) string {
	return node(max(1, l.nodes-rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "node")))
}

// renew draws numbers from so few that they often fit and often do not.
func (l *lockstep) renew(t *rapid.T) {
	r := store.Renewal{Node: l.aNode(t), Last: rapid.Int64Range(0, 2).Draw(t, "last"), Next: rapid.Int64Range(0, 2).Draw(t, "next"), Draining: rapid.Bool().Draw(t, "draining")}
	both(l, fmt.Sprintf("Renew by %+v", r), func(s store.Store) (string, error) {
		m, err := s.Renew(l.ctx, r)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d %+v %+v", m.Now, timeless(m.Nodes), m.Owners), nil
	})
}

// timeless leaves out when leases run out: not every store has them.
func timeless(members []store.Member) []store.Member {
	for i := range members {
		members[i].Expires, members[i].Ordinal = 0, 0 // a store without wards numbers none
	}
	return members
}

func (l *lockstep) leave(t *rapid.T) {
	who := l.aNode(t)
	both(l, "Leave of "+who, func(s store.Store) (any, error) { return nil, s.Leave(l.ctx, who) })
	if who == node(l.nodes) {
		l.joined = false
	}
}

// reopen is a death: only the next node that joins ends what the last one had.
func (l *lockstep) reopen() {
	both(l, "Close", func(s store.Store) (any, error) { return nil, s.Close() })
	l.open(0)
	l.open(1)
	l.join()
}

func (l *lockstep) commit(t *rapid.T) {
	var turns []store.Turn
	for range rapid.IntRange(1, 6).Draw(t, "turns") {
		turns = append(turns, l.aTurn(t))
	}
	l.sent = append(l.sent, turns...)
	both(l, fmt.Sprintf("Commit of %+v", turns), func(s store.Store) (string, error) {
		result, err := s.Commit(l.ctx, turns)
		said := fmt.Sprint(result.Now)
		for _, err := range result.Errors {
			said += ", " + kind(err)
		}
		return said, err
	})
}

func (l *lockstep) create(t *rapid.T) {
	run := aNewRun(t, aPartition(t))
	both(l, fmt.Sprintf("Create of %+v", run), func(s store.Store) (any, error) { return nil, s.Create(l.ctx, run) })
}

func (l *lockstep) post(t *rapid.T) {
	m := aMessage(t)
	m.Replace = rapid.IntRange(0, 3).Draw(t, "instead") == 0
	both(l, fmt.Sprintf("Post of %+v", m), func(s store.Store) (any, error) { return nil, s.Post(l.ctx, m) })
}

func (l *lockstep) take(t *rapid.T) {
	partition, id := aPartition(t), aWorkflow.Draw(t, "of")
	both(l, fmt.Sprintf("Posted to %q in %d", id, partition), func(s store.Store) ([]store.Message, error) { return s.Posted(l.ctx, partition, id) })
	both(l, fmt.Sprintf("Take of %q in %d", id, partition), func(s store.Store) ([]store.Message, error) { return s.Take(l.ctx, partition, id) })
}

func (l *lockstep) list(t *rapid.T) {
	filter := store.Filter{
		Limit: rapid.IntRange(0, 3).Draw(t, "limit"), Status: maybe(rapid.SliceOfN(aStatus, 1, 3)).Draw(t, "statuses"),
		IDPrefix: maybe(rapid.SampledFrom([]string{"w", "w1", "x"})).Draw(t, "prefix"),
		Call:     maybe(rapid.Just(store.Backoff)).Draw(t, "call"), ErrorType: maybe(rapid.Just("a")).Draw(t, "error"),
		Before: maybe(anID).Draw(t, "before"), Above: maybe(anID).Draw(t, "above"),
		Attributes: maybe(rapid.SliceOfN(anAttribute, 1, 2)).Draw(t, "attributes"), Partitions: maybe(someOf).Draw(t, "partitions"),
	}
	if rapid.Bool().Draw(t, "by time") {
		filter.Since, filter.Until = time.Unix(0, rapid.Int64Range(6, 8).Draw(t, "since")), time.Unix(0, rapid.Int64Range(7, 9).Draw(t, "until"))
	}
	both(l, fmt.Sprintf("List by %+v", filter), func(s store.Store) ([]store.Run, error) { return s.List(l.ctx, filter) })
	each := rapid.IntRange(0, 4).Draw(t, "each")
	both(l, fmt.Sprint("Floor ", filter.Partitions, filter.Before, each), func(s store.Store) (string, error) {
		return s.Floor(l.ctx, filter.Partitions, filter.Before, each)
	})
}

func (l *lockstep) due(t *rapid.T) {
	after, until, limit := rapid.Int64Range(-1, 31).Draw(t, "after"), rapid.Int64Range(-1, 31).Draw(t, "until"), rapid.IntRange(0, 3).Draw(t, "limit")
	partitions := aSet(t)
	both(l, fmt.Sprint("Due ", partitions, after, until, limit), func(s store.Store) ([]store.Wake, error) { return l.wakes(s, partitions, after, until, limit) })
}

func (l *lockstep) line(t *rapid.T) {
	read := store.LineRead{Partitions: aSet(t), From: rapid.SampledFrom([]string{"", "k", "kex", "z"}).Draw(t, "from"), Limit: rapid.IntRange(1, 6).Draw(t, "limit")}
	both(l, fmt.Sprintf("Line %+v", read), func(s store.Store) ([]store.LineRun, error) { return s.Line(l.ctx, read) })
}

// wakes reads what is due, those of one time in a known order.
func (l *lockstep) wakes(s store.Store, partitions []int, after, until int64, limit int) ([]store.Wake, error) {
	due, err := s.Due(l.ctx, partitions, after, until, limit)
	slices.SortStableFunc(due, func(a, b store.Wake) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Run, b.Run))
	})
	return due, err
}

func (l *lockstep) counts(t *rapid.T) {
	partitions, most := aSet(t), rapid.IntRange(0, 3).Draw(t, "most")
	both(l, fmt.Sprint("Counts of ", partitions, " up to ", most), func(s store.Store) (store.Counts, error) { return s.Counts(l.ctx, partitions, most) })
}

func (l *lockstep) ledger(t *rapid.T) {
	filter := store.LedgerFilter{
		Name: aWord.Draw(t, "name"), ErrorType: aWord.Draw(t, "error"), From: rapid.Int64Range(0, 2).Draw(t, "from"), Until: rapid.Int64Range(0, 4).Draw(t, "until"),
		Latest: rapid.Bool().Draw(t, "latest"), Above: rapid.IntRange(0, 2).Draw(t, "above"), Limit: rapid.IntRange(0, 3).Draw(t, "limit"),
		Type: maybe(rapid.SampledFrom([]string{"type of w1", "type of w2", "type of w3"})).Draw(t, "type"), Partitions: maybe(someOf).Draw(t, "partitions"),
	}
	if rapid.Bool().Draw(t, "page") {
		filter.Before = &store.LedgerKey{Ended: rapid.Int64Range(0, 3).Draw(t, "ended"), Run: anID.Draw(t, "before"), Call: rapid.Int64Range(1, 2).Draw(t, "of"), Number: 2}
	}
	both(l, fmt.Sprintf("Ledger by %+v", filter), func(s store.Store) ([]store.LedgerEntry, error) { return s.Ledger(l.ctx, filter) })
	both(l, fmt.Sprintf("Errors by %+v", filter), func(s store.Store) ([]store.ErrorGroup, error) { return s.Errors(l.ctx, filter) })
	tallies := store.TallyFilter{From: filter.From, Until: filter.Until}
	both(l, fmt.Sprintf("Tallies by %+v", tallies), func(s store.Store) ([]store.Tally, error) { return s.Tallies(l.ctx, tallies) })
}

func (l *lockstep) page(t *rapid.T) {
	partition := aPartition(t)
	run, after, limit := aRun(t, partition, "run"), rapid.Int64Range(0, 3).Draw(t, "after"), rapid.IntRange(0, 2).Draw(t, "limit")
	both(l, fmt.Sprint("History ", run, after, limit), func(s store.Store) ([]store.TurnRow, error) {
		return s.History(l.ctx, partition, run, after, limit)
	})
	partitions := aSet(t)
	read := store.InboxRead{After: after, Limit: limit, Of: maybe(rapid.SliceOfN(aWorkflow, 2, 2)).Draw(t, "of")}
	both(l, fmt.Sprintf("Inbox %v %+v", partitions, read), func(s store.Store) ([]store.Message, error) { return s.Inbox(l.ctx, partitions, read) })
}

// compare demands that both stores hold the same.
func (l *lockstep) compare() {
	for _, p := range worldPartitions {
		l.comparePartition(p)
	}
	all := store.InboxRead{}
	both(l, "Inbox", func(s store.Store) ([]store.Message, error) { return s.Inbox(l.ctx, worldPartitions, all) })
	both(l, "Due", func(s store.Store) ([]store.Wake, error) { return l.wakes(s, worldPartitions, -1, store.Never, 0) })
	both(l, "List", func(s store.Store) ([]store.Run, error) { return s.List(l.ctx, store.Filter{}) })
	both(l, "Nodes", func(s store.Store) ([]store.Member, error) {
		members, err := s.Nodes(l.ctx)
		return timeless(members), err
	})
	both(l, "Counts", func(s store.Store) (store.Counts, error) { return s.Counts(l.ctx, nil, 0) })
	both(l, "Ledger", func(s store.Store) ([]store.LedgerEntry, error) { return s.Ledger(l.ctx, store.LedgerFilter{}) })
	both(l, "Errors", func(s store.Store) ([]store.ErrorGroup, error) { return s.Errors(l.ctx, store.LedgerFilter{}) })
	both(l, "Tallies", func(s store.Store) ([]store.Tally, error) { return s.Tallies(l.ctx, store.TallyFilter{}) })
}

func (l *lockstep) comparePartition(p int) {
	for n := range 6 {
		run := runID(p, fmt.Sprint("r", n+1))
		both(l, "Load of "+run, func(s store.Store) (*store.Record, error) { return s.Load(l.ctx, p, run) })
		both(l, "Attempts of "+run, func(s store.Store) ([]store.Attempt, error) { return s.Attempts(l.ctx, p, run, store.AttemptRange{}) })
	}
	for _, workflow := range []string{"w1", "w2", "w3"} {
		both(l, "Find of "+workflow, func(s store.Store) (*store.Run, error) { return s.Find(l.ctx, p, workflow, "") })
	}
	both(l, "Owners", func(s store.Store) ([]store.Ownership, error) { return s.Owners(l.ctx, p) })
}
