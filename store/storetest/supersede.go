package storetest

import "github.com/perdure/perdure/store"

// supersedeChecks are about nodes that take another's place.
var supersedeChecks = []check{
	{"Supersede/EndsTheEarlierNodeAtOnce", func(f *fixture) {
		run := f.created()
		next := f.peer(f.describe("node-2", superseding))
		f.refuses(f.turn(run, 2), store.ErrFenced) // though nobody has claimed yet
		next.claim()
		f.refuses(f.turn(run, 2), store.ErrFenced)
		next.commits(next.turn(run, 2))
		f.is(errorOf(f.store.Claim(f.Context(), f.node, []int{f.partition})), store.ErrReplaced)
		f.is(f.store.Join(f.Context(), f.member(f.node).Node), store.ErrReplaced)
		equal(f, f.left(f.node).Superseded, true)
		equal(f, f.member("node-2").Live, true)
		equal(f, len(next.renew().Nodes), 1)
	}},
	{"Supersede/WhoWasSupersededSurvivedIfItShowsThatItLives", func(f *fixture) {
		f.renew()
		next := f.peer(f.describe("node-2", superseding))
		equal(f, f.survived(), []bool{false}) // it may be dead
		next.claim()
		equal(f, f.survived(), []bool{false, false})
		f.is(errorOf(f.store.Renew(f.Context(), store.Renewal{Node: f.node, Last: 77, Next: 78})), store.ErrReplaced)
		equal(f, f.survived(), []bool{false, false}) // that was another process
		f.is(errorOf(f.tryRenew()), store.ErrReplaced)
		equal(f, f.survived(), []bool{true, false})
		last := f.peer(f.describe("node-3", superseding))
		last.claim()
		equal(f, f.survived(), []bool{true, false, false})
		f.must(next.store.Leave(f.Context(), next.node)) // late, but in good order
		equal(f, f.member("node-2").Superseded, true)
		equal(f, f.survived(), []bool{true, true, false})
		f.must(last.store.Leave(f.Context(), last.node))
		equal(f, f.member("node-3").Superseded, false)
	}},
	{"Supersede/OfOneNameInOneGroup", func(f *fixture) {
		for i, change := range []func(n *store.Node){
			func(n *store.Node) { n.Name = "another name" },
			grouped(f.makeGroup("another group")),
			func(n *store.Node) { n.Supersede = false },
		} {
			f.peer(f.describe("other-"+string(rune('a'+i)), superseding, change))
		}
		f.commits(f.first(f.newRun()))
		equal(f, len(f.renew().Nodes), 3)
		f.peer(f.describe("node-2", superseding))
		for id, live := range map[string]bool{"node-1": false, "other-a": true, "other-b": true, "other-c": false, "node-2": true} {
			if f.member(id).Live != live {
				f.Errorf("%s is %+v", id, f.member(id))
			}
		}
	}},
	{"Supersede/JoiningAgainSupersedesNobody", func(f *fixture) {
		first := f.member(f.node).Node
		node := first
		node.ID, node.Supersede = "node-2", false
		f.peer(node)
		f.must(f.store.Join(f.Context(), first))
		equal(f, f.member("node-2").Live, true)
	}},
	{"Supersede/OfANodeWhoseLeaseRanOut", func(f *fixture) {
		dying := f.dying("dying")
		f.await("a lease that runs out", func() bool { return !f.member(dying.node).Live })
		node := f.member(dying.node).Node
		node.ID, node.Supersede = "heir", true
		f.peer(node).claim()
		if f.member(dying.node).Left == 0 {
			f.Error("its membership continues")
		}
		f.is(errorOf(dying.tryRenew()), store.ErrReplaced)
	}},
	{"Supersede/OfAClosedStore", func(f *fixture) {
		run := f.created()
		old := f.turn(run, 2)
		f.reopen()
		equal(f, f.member("node-1").Live, true)
		f.join("node-2") // of the same name
		f.refuses(old, store.ErrFenced)
		f.commits(f.turn(run, 2))
	}},
	{"Supersede/IsHeardOf", func(f *fixture) {
		l := f.listen(f.store)
		l.settle()
		f.peer(f.describe("node-2", superseding))
		l.expect(store.NewsNodes)
	}},
}
