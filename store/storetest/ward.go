package storetest

import (
	"slices"

	"github.com/perdure/perdure/store"
)

// wardChecks are about runs on which another node works than the owner of their partition.
var wardChecks = []check{
	{"Ward/ARunMovesAndComesBack", func(f *fixture) {
		run, other := f.created(), f.created()
		b := f.host("node-b")
		f.must(f.store.Move(f.Context(), b.away(f, run, []byte(`"tried"`))))
		equal(f, f.counts([]int{f.partition}, 0).Away, 1)
		got := f.find(run.ID)
		equal(f, [3]any{got.Ward, got.Wake, string(got.Detail)}, [3]any{b.ward, store.Arrived, `"tried"`})
		equal(f, f.dueAt(f.partition), []string{other.ID})
		b.takes(f)
		equal(f, b.dueAt(b.place), []string{run.ID})
		f.refuses(b.turn(run, 2), store.ErrFenced) // the owner's epoch is not that of the ward
		b.commits(b.wardTurn(run, 2))
		f.must(b.store.Move(f.Context(), b.back(run)))
		equal(f, f.find(run.ID).Ward, 0)
		equal(f, f.counts(nil, 0).Away, 0)
		equal(f, string(f.find(run.ID).Detail), `"tried"`)
		f.commits(f.turn(run, 3))
		epochs := map[int64]bool{}
		for _, row := range f.history(run.ID) {
			epochs[row.Epoch] = true
		}
		for _, o := range f.owners() { // whoever took a turn is among the owners
			if delete(epochs, o.Epoch); o.Partition != f.partition || o.Over != (o.Epoch < f.epoch) {
				f.Errorf("an owner is %+v", o)
			}
		}
		equal(f, len(epochs), 0)
	}},
	{"Ward/AMoveIsHeard", func(f *fixture) {
		run := f.created()
		b := f.host("node-b")
		l := f.listen(b.store)
		l.settle()
		f.must(f.store.Move(f.Context(), b.away(f, run, nil)))
		l.expect(store.NewsNodes | store.NewsMessage)
		b.takes(f)
		l = f.listen(f.store)
		l.settle()
		f.must(b.store.Move(f.Context(), b.back(run)))
		l.expect(store.NewsNodes)
	}},
	{"Ward/ARepeatedMoveDoesNoHarm", func(f *fixture) {
		run := f.created()
		b := f.host("node-b")
		m := b.away(f, run, nil)
		f.must(f.store.Move(f.Context(), m))
		f.must(f.store.Move(f.Context(), m))
		b.takes(f)
		b.commits(b.wardTurn(run, 2, stating(store.RunState{Status: store.Running, Wake: 12345})))
		f.must(f.store.Move(f.Context(), m)) // what the ward did since stays
		equal(f, f.find(run.ID).Wake, int64(12345))
		c := f.host("node-c")
		f.is(f.store.Move(f.Context(), c.away(f, run, nil)), store.ErrElsewhere)
		f.is(b.store.Move(f.Context(), store.Move{Partition: f.partition, Ward: b.ward, Epoch: b.epoch + 1, Run: run.ID}), store.ErrFenced)
		f.is(f.store.Move(f.Context(), store.Move{Partition: f.partition, Epoch: f.epoch - 1, Run: run.ID, To: b.node}), store.ErrFenced)
		f.is(f.store.Move(f.Context(), b.away(f, f.newRun(), nil)), store.ErrNotFound)
	}},
	{"Ward/AMoveThatIsRepeatedWhenItsNodeIsGoneMovesNothing", func(f *fixture) {
		run := f.created()
		b := f.host("node-b")
		m := b.away(f, run, []byte(`"then"`))
		f.must(f.store.Move(f.Context(), m)) // and its answer is lost
		b.takes(f)
		b.commits(b.wardTurn(run, 2, stating(store.RunState{Status: store.Running, Wake: 12345, Detail: []byte(`"since"`)})))
		f.must(b.store.Leave(f.Context(), b.node))
		f.must(errorOf(f.store.Dissolve(f.Context(), f.partition, f.epoch, b.ward)))
		f.is(f.store.Move(f.Context(), m), store.ErrNoPlace)
		got := f.find(run.ID)
		equal(f, [2]any{got.Ward, string(got.Detail)}, [2]any{0, `"since"`})
	}},
	{"Ward/OnlyALiveNodeOfTheGroupTakesRuns", func(f *fixture) {
		run := f.created()
		b := f.host("node-b")
		f.is(f.store.Move(f.Context(), store.Move{Partition: f.partition, Epoch: f.epoch, Run: run.ID, To: "stranger"}), store.ErrNoPlace)
		f.must(f.store.Join(f.Context(), f.describe("elsewhere", grouped(f.makeGroup("another group")))))
		f.is(f.store.Move(f.Context(), store.Move{Partition: f.partition, Epoch: f.epoch, Run: run.ID, To: "elsewhere"}), store.ErrNoPlace)
		f.must(f.store.Move(f.Context(), b.away(f, run, nil)))
		f.must(b.store.Leave(f.Context(), b.node))
		f.is(f.store.Move(f.Context(), b.away(f, f.created(), nil)), store.ErrNoPlace)
		equal(f, f.find(run.ID).Ward, b.ward)
	}},
	{"Ward/EachMessageIsOfOnePlace", func(f *fixture) {
		b := f.host("node-b")
		run, other := f.moved(b), f.created()
		b.takes(f)
		for i, m := range []store.Message{{WorkflowID: run.WorkflowID}, {WorkflowID: run.WorkflowID, Run: run.ID}, {WorkflowID: other.WorkflowID}, {WorkflowID: "nobody", ForOwner: true}, {WorkflowID: run.WorkflowID, Run: "another run", ForOwner: true}} {
			m.Partition, m.Key, m.Kind = f.partition, string(rune('a'+i)), "k"
			f.must(f.store.Post(f.Context(), m))
		}
		equal(f, keys(f.inbox()), []string{"c", "d", "e"})
		equal(f, keys(f.inbox(b.place)), []string{"a", "b"})
		all := f.inbox(f.partition, b.place)
		equal(f, len(all), 5)
		equal(f, [2]int{all[0].Partition, all[2].Partition}, [2]int{b.place, f.partition})
		for place, want := range map[int][]store.Message{f.partition: all[2:], b.place: all[:2]} {
			equal(f, f.readInbox(store.InboxRead{Of: []string{run.WorkflowID, other.WorkflowID, "nobody"}}, place), want)
		}
		equal(f, f.readInbox(store.InboxRead{Of: []string{run.WorkflowID}}, f.partition, b.place), []store.Message{all[0], all[1], all[4]})
		b.commits(b.wardTurn(run, 0, consuming(all[0])))
		equal(f, keys(f.inbox(b.place)), []string{"b"})
		f.must(b.store.Move(f.Context(), b.back(run)))
		equal(f, keys(f.inbox()), []string{"b", "c", "d", "e"})
		equal(f, keys(f.inbox(b.place)), nil)
	}},
	{"Ward/TheNextOfAChainStaysAndWhatClosesIsAtHome", func(f *fixture) {
		b := f.host("node-b")
		run := f.moved(b)
		b.takes(f)
		next := f.newRun(following(run))
		turn := b.wardTurn(run, 2, continuing(next))
		b.commits(turn)
		b.commits(turn)
		equal(f, [2]int{f.find(run.ID).Ward, f.find(next.ID).Ward}, [2]int{0, b.ward})
		b.commits(b.wardTurn(next, 1, ending(store.Completed)), b.wardTurn(f.moved(b), 2))
		equal(f, f.find(next.ID).Ward, 0)
		f.is(f.store.Move(f.Context(), b.away(f, next, nil)), store.ErrClosed)
	}},
	{"Ward/MembersSeeWards", func(f *fixture) {
		b := f.host("node-b")
		f.moved(b)
		wards := func() (list []store.Ownership) {
			return slices.DeleteFunc(f.renew().Owners, func(o store.Ownership) bool { return o.Partition < b.place })
		}
		made := wards()
		if len(made) != 1 || made[0].Partition != b.place || made[0].Node != b.node || made[0].Epoch != store.WardEpoch(b.ward, 0) {
			f.Fatalf("the ward is %+v", made)
		}
		equal(f, f.member(b.node).Owned, 0)
		b.takes(f)
		equal(f, wards()[0].Epoch, made[0].Epoch+1)
		f.must(b.store.Release(f.Context(), b.node, []int{b.place}))
		equal(f, wards()[0].Node, "")
		f.is(f.store.Move(f.Context(), b.away(f, f.created(), nil)), store.ErrNoPlace)
	}},
	{"Ward/IsDissolvedWhenItsNodeIsGone", func(f *fixture) {
		b := f.host("node-b")
		run := f.moved(b)
		b.takes(f)
		gone := func(epoch int64) bool {
			f.Helper()
			return must(f.store.Dissolve(f.Context(), f.partition, epoch, b.ward))(f)
		}
		equal(f, gone(f.epoch), false) // it lives
		f.is(errorOf(f.store.Dissolve(f.Context(), f.partition, f.epoch+1, b.ward)), store.ErrFenced)
		f.must(b.store.Release(f.Context(), b.node, []int{b.place}))
		equal(f, gone(f.epoch), true)
		equal(f, gone(f.epoch), true)
		b.refuses(b.wardTurn(run, 2), store.ErrFenced)
		equal(f, f.find(run.ID).Ward, 0)
		f.commits(f.turn(run, 2))
		before := b.epoch
		f.must(f.store.Move(f.Context(), b.away(f, run, nil))) // the node lives, and takes it again
		b.refuses(b.wardTurn(run, 3), store.ErrFenced)
		b.takes(f)
		if b.epoch <= before {
			f.Errorf("the epoch went from %d to %d", before, b.epoch)
		}
		b.commits(b.wardTurn(run, 3))
	}},
	{"Ward/OutlivesItsHome", func(f *fixture) {
		b := f.host("node-b")
		run := f.moved(b)
		b.takes(f)
		f.join("node-2")
		b.commits(b.wardTurn(run, 2))
		equal(f, f.dueAt(f.partition), nil)
		f.must(b.store.Leave(f.Context(), b.node))
		is := must(f.store.Dissolve(f.Context(), f.partition, f.epoch, b.ward))(f)
		equal(f, is, true)
		for _, o := range f.owners() {
			if o.Node == b.node && !(o.Over && o.Survived && o.Ended) {
				f.Errorf("the node that left is %+v", o)
			}
		}
	}},
	{"Ward/ACommitOfAWardThatIsDissolvedIsWholeOrNot", func(f *fixture) {
		for range 20 {
			run := f.created()
			b := f.host("node-" + run.ID)
			f.must(f.store.Move(f.Context(), b.away(f, run, nil)))
			b.takes(f)
			turn := b.wardTurn(run, 2, stating(store.RunState{Status: store.Running, Wake: 777}))
			written := make(chan error, 1)
			go func() { written <- b.tried(turn) }()
			f.must(b.store.Leave(f.Context(), b.node))
			is := must(f.store.Dissolve(f.Context(), f.partition, f.epoch, b.ward))(f)
			seen := len(f.history(run.ID)) // as of now nothing comes any more
			err := <-written
			if equal(f, is, true); err == nil != (seen == 2) || len(f.history(run.ID)) != seen {
				f.Fatalf("the commit said %v, and there were %d turns, then %d", err, seen, len(f.history(run.ID)))
			}
			equal(f, f.find(run.ID).Ward, 0)
		}
	}},
}

// host is a peer that takes runs of the fixture's partition.
type host struct {
	*fixture
	ward, place int
}

// host is another node, to which runs may move.
func (f *fixture) host(id string) *host {
	f.Helper()
	b := &host{fixture: f.peer(f.describe(id))}
	b.ward = f.member(id).Ordinal
	b.place = store.Place(f.partition, b.ward)
	return b
}

// away is the move of a run to the host.
func (b *host) away(f *fixture, run store.Run, detail []byte) store.Move {
	return store.Move{Partition: f.partition, Epoch: f.epoch, Run: run.ID, To: b.node, Detail: detail}
}

// takes claims the ward.
func (b *host) takes(f *fixture) {
	f.Helper()
	owned := b.claims(b.place)
	if len(owned) != 1 || owned[0].Partition != b.place || owned[0].Node != b.node {
		f.Fatalf("Claim of the ward answered %+v", owned)
	}
	b.epoch = owned[0].Epoch
}

func (b *host) wardTurn(run store.Run, number int64, writes ...func(t *store.Turn)) store.Turn {
	t := b.turn(run, number, writes...)
	t.Ward = b.ward
	return t
}

// back is the move of a run from the host to its home.
func (b *host) back(run store.Run) store.Move {
	return store.Move{Partition: b.partition, Ward: b.ward, Epoch: b.epoch, Run: run.ID}
}

// moved is a run that has moved to the host.
func (f *fixture) moved(b *host) store.Run {
	f.Helper()
	run := f.created()
	f.must(f.store.Move(f.Context(), b.away(f, run, nil)))
	return run
}

// dueAt lists the hot runs at a place.
func (f *fixture) dueAt(place int) (ids []string) {
	f.Helper()
	due := must(f.store.Due(f.Context(), []int{place}, store.Arrived-1, store.Hot, 0))(f)
	for _, w := range due {
		equal(f, w.Partition, place)
		ids = append(ids, w.Run)
	}
	return ids
}
