package storetest

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// nodeChecks are about membership, as far as one node can show it.
var nodeChecks = []check{
	{"Node/JoinIsRepeatable", func(f *fixture) {
		before := f.member(f.node)
		node := before.Node
		f.must(f.store.Join(f.Context(), node))
		node.Name, node.Lease, node.Supersede = "changed", time.Minute, false
		f.must(f.store.Join(f.Context(), node))
		equal(f, f.member(f.node), before)
		f.commits(f.first(f.newRun())) // and it takes nothing away
	}},
	{"Node/CodecsMarkTheDatabase", func(f *fixture) {
		join := func(id string, codecs, encodes []string) error {
			node := f.describe(id)
			node.Codecs, node.Encodes = codecs, encodes
			return f.store.Join(f.Context(), node)
		}
		if !f.store.Info().Shared {
			f.must(f.store.Leave(f.Context(), f.node))
		}
		// joins joins a node and lets it leave, so that the next one can come.
		joins := func(id string, codecs, encodes []string) {
			f.Helper()
			f.must(join(id, codecs, encodes))
			f.must(f.store.Leave(f.Context(), id))
		}
		refused := func(id string, codecs, encodes []string, missing ...string) {
			f.Helper()
			refusal, is := errors.AsType[*store.CodecError](join(id, codecs, encodes))
			if !is || !slices.Equal(refusal.Missing, missing) || refusal.Location != f.store.Info().Location {
				f.Errorf("a node with the codecs %q got %v, want %q to be missing", codecs, refusal, missing)
				return
			}
			nodes := must(f.store.Nodes(f.Context()))(f)
			if slices.ContainsFunc(nodes, func(m store.Member) bool { return m.ID == id }) {
				f.Errorf("the node %s was refused and is a member", id)
			}
		}
		joins("only-reads", []string{"test-r"}, nil)
		joins("encodes", []string{"test-é", "test-r"}, []string{"test-é"})
		refused("in-clear", nil, nil, "test-é")
		refused("another", []string{"test-r"}, []string{"test-r"}, "test-é")
		joins("reads", []string{"test-é"}, nil)
		joins("both", []string{"test-z", "test-é"}, []string{"test-é", "test-z"})
		refused("first", []string{"test-é"}, []string{"test-é"}, "test-z")
		refused("in-clear-2", nil, nil, "test-z", "test-é")
		members := must(f.store.Nodes(f.Context()))(f)
		for _, m := range members {
			if m.Codecs != nil || m.Encodes != nil {
				f.Errorf("the node is described with codecs: %+v", m)
			}
		}
		if err := join("spoiled", []string{"a"}, []string{"b"}); err == nil || store.Unavailable(err) {
			f.Errorf("a node that cannot decode what it encodes joins: %v", err)
		}
	}},
	{"Node/JoinRefusesMalformedNodes", func(f *fixture) {
		spoiled(f, f.describe("malformed"), func(n store.Node) error { return f.store.Join(f.Context(), n) },
			func(n *store.Node) { n.ID = "" },
			func(n *store.Node) { n.ID = "\xff" },
			func(n *store.Node) { n.Name = "a\x00b" },
			func(n *store.Node) { n.Group = "\xc0" },
			func(n *store.Node) { n.Name, n.Supersede = "", true },
			func(n *store.Node) { n.Build = "a\x00b" },
			func(n *store.Node) { n.Definitions = "\xff" },
		)
	}},
	{"Node/RenewAnswersMembersOwnersAndTheClock", func(f *fixture) {
		m := f.renew()
		if m.Now <= 0 {
			f.Errorf("the clock says %d", m.Now)
		}
		described := f.member(f.node)
		described.Definitions = "" // of a thousand nodes they would be much to read every few seconds
		equal(f, m.Nodes, []store.Member{described})
		equal(f, len(m.Owners), f.group.Partitions)
		for i, p := range f.group.All() {
			owner := m.Owners[i]
			equal(f, owner.Partition, p)
			if p == f.partition {
				equal(f, [2]any{owner.Node, owner.Epoch}, [2]any{f.node, f.epoch})
			} else {
				equal(f, owner.Node, "")
			}
		}
	}},
	{"Node/MembersAreDescribed", func(f *fixture) {
		var before store.Member
		for i := range 3 {
			m := f.member(f.node)
			equal(f, m.Node, store.Node{ID: "node-1", Name: "the node", Group: f.group.Name, Lease: time.Hour, Supersede: true, Build: "the build", Definitions: `{"what":"é"}`})
			if m.Joined <= 0 || m.Left != 0 || !m.Live || m.Owned != 1 || m.Draining {
				f.Errorf("the node is %+v", m)
			}
			expires := store.Never
			if f.store.Info().Shared {
				expires = m.Seen + int64(time.Hour)
			}
			equal(f, m.Expires, expires)
			if i > 0 && (m.Seen < before.Seen || m.Joined != before.Joined) {
				f.Errorf("a renewal made %+v of %+v", m, before)
			}
			before = m
			if now := f.renew().Now; now < m.Seen {
				f.Errorf("the node was seen at %d and it is %d", m.Seen, now)
			}
		}
	}},
	{"Node/RenewAgainWithTheSameNumbers", func(f *fixture) {
		for _, r := range [][2]int64{{0, 1 << 60}, {0, 1 << 60}, {1 << 60, -7}, {1 << 60, -7}, {1 << 60, -7}, {-7, 9}} {
			f.must(errorOf(f.store.Renew(f.Context(), store.Renewal{Node: f.node, Last: r[0], Next: r[1]})))
		}
	}},
	{"Node/RenewalByAnotherProcessIsRefused", func(f *fixture) {
		renew := func(last, next int64) error {
			return errorOf(f.store.Renew(f.Context(), store.Renewal{Node: f.node, Last: last, Next: next}))
		}
		f.is(renew(4, 5), store.ErrReplaced) // as if it had been there before
		f.must(renew(0, 1))
		f.is(renew(0, 2), store.ErrReplaced) // the first of another process
		f.is(renew(4, 5), store.ErrReplaced)
		f.must(renew(1, 2))
		f.is(renew(1, 3), store.ErrReplaced) // a copy of the machine
		f.is(renew(0, 1), store.ErrReplaced) // a very late one
		f.must(renew(2, 4))                  // the node itself is not harmed
		f.commits(f.first(f.newRun()))
		f.malformed(renew(4, 0))
		f.is(errorOf(f.store.Renew(f.Context(), store.Renewal{Node: "stranger", Next: 1})), store.ErrReplaced)
	}},
	{"Node/DrainingIsSeen", func(f *fixture) {
		r := store.Renewal{Node: f.node}
		for _, draining := range []bool{true, false, true} {
			r.Last, r.Next, r.Draining = r.Next, r.Next+1, draining
			equal(f, must(f.store.Renew(f.Context(), r))(f).Nodes[0].Draining, draining)
			equal(f, f.member(f.node).Draining, draining)
		}
		f.commits(f.first(f.newRun())) // it owns what it owns
	}},
	{"Node/LeaveEndsTheMembership", func(f *fixture) {
		node := f.member(f.node).Node
		f.must(f.store.Leave(f.Context(), f.node))
		m := f.left(f.node)
		f.is(errorOf(f.tryRenew()), store.ErrReplaced)
		f.is(f.store.Join(f.Context(), node), store.ErrReplaced)
		equal(f, f.member(f.node).Left, m.Left)
		f.refuses(f.first(f.newRun()), store.ErrFenced)
	}},
	{"Node/LeaveIsRepeatableAndFreesOnlyItsOwn", func(f *fixture) {
		f.must(f.store.Leave(f.Context(), "nobody"))
		f.commits(f.first(f.newRun()))
		f.must(f.store.Leave(f.Context(), f.node))
		f.must(f.store.Leave(f.Context(), f.node))
		f.refuses(f.first(f.newRun()), store.ErrFenced)
		first := f.node
		f.join("node-2")
		f.must(f.store.Leave(f.Context(), first)) // late
		f.commits(f.first(f.newRun()))
	}},
	{"Node/NodesByTheTimeTheyJoined", func(f *fixture) {
		for _, id := range []string{"node-3", "node-2", "a-node"} {
			f.must(f.store.Leave(f.Context(), f.node))
			f.join(id)
		}
		f.must(f.store.Leave(f.Context(), f.node))
		f.reopen() // which forgets nobody
		members := must(f.store.Nodes(f.Context()))(f)
		ids := each(members, func(m store.Member) string { return m.ID })
		equal(f, ids, []string{"node-1", "node-3", "node-2", "a-node"})
		equal(f, slices.IsSortedFunc(members, func(a, b store.Member) int { return cmp.Compare(a.Joined, b.Joined) }), true)
	}},
	{"Node/AnyNumberMayComeAndGo", func(f *fixture) {
		f.must(f.store.Leave(f.Context(), f.node))
		for i := range 250 {
			node := f.describe("node-" + string(rune('a'+i/26)) + string(rune('a'+i%26)))
			f.must(f.store.Join(f.Context(), node))
			f.node = node.ID
			if i == 0 {
				f.claim()
			}
			f.must(f.store.Leave(f.Context(), node.ID))
		}
		f.join("the last")
		equal(f, f.member("the last").Live, true)
		equal(f, f.survived(), []bool{true, true, false}) // be they forgotten or not
	}},
}
