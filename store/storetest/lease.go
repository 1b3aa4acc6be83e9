package storetest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/store"
)

// brief is a lease that a test can wait for.
const brief = 100 * time.Millisecond

// leaseChecks are about several nodes, of which some die.
var leaseChecks = []check{
	{"Lease/MustBePositive", func(f *fixture) {
		for _, lease := range []time.Duration{0, -time.Second} {
			f.malformed(f.store.Join(f.Context(), f.describe("malformed", leased(lease))))
		}
	}},
	{"Lease/LivingNodesKeepWhatTheyOwn", func(f *fixture) {
		rival := f.peer(f.describe("rival"))
		equal(f, len(rival.claims(f.partition)), 0)
		f.commits(f.first(f.newRun()))
		f.must(rival.store.Release(f.Context(), rival.node, []int{f.partition}))
		f.must(rival.store.Leave(f.Context(), rival.node))
		f.commits(f.first(f.newRun()))
		equal(f, len(f.owners()), 1)
	}},
	{"Lease/ClaimTakesWhatIsFreeOrItsOwnAndLeavesTheRest", func(f *fixture) {
		free, own := f.elsewhere(), f.makeGroup("a third group").First
		rival := f.peer(f.describe("rival"))
		rival.claims(own)
		owned := rival.claims(free, own, f.partition)
		equal(f, len(owned), 2)
		for _, o := range owned {
			if o.Partition == f.partition || o.Node != rival.node {
				f.Errorf("claimed %+v", o)
			}
		}
		equal(f, rival.member(rival.node).Owned, 2)
		equal(f, rival.member(f.node).Owned, 1)
	}},
	{"Lease/MembersSeeEachOther", func(f *fixture) {
		f.peer(f.describe("of another group", grouped(f.makeGroup("another group"))))
		rival := f.peer(f.describe("a-rival"))
		for _, node := range []*fixture{f, rival} {
			m := node.renew()
			equal(f, len(m.Nodes), 2)
			for i, id := range []string{"a-rival", "node-1"} {
				described := f.member(id)
				described.Definitions = ""
				equal(f, m.Nodes[i], described)
			}
			equal(f, m.Owners[f.partition-f.group.First].Node, "node-1")
		}
		f.must(f.store.Leave(f.Context(), f.node))
		m := rival.renew()
		equal(f, len(m.Nodes), 1)
		equal(f, m.Owners[f.partition-f.group.First].Node, "")
	}},
	{"Lease/WhoIsSilentLosesAllToWhoClaims", func(f *fixture) {
		dying := f.dying("dying")
		also := f.elsewhere()
		dying.claims(also)
		run := dying.created()
		first := *dying
		f.await("the partitions of a node that is silent", func() bool {
			owned := f.claims(also, f.partition)
			if len(owned) == 1 {
				f.Fatalf("a lease ran out for one partition and not the other: %+v", owned)
			}
			return len(owned) == 2
		})
		f.refuses(first.turn(run, 2), store.ErrFenced)
		equal(f, f.survived(), []bool{true, false, false})
		equal(f, f.ended(), []bool{false, false, false}) // nobody has seen it end
		// It comes back, and sees that all is lost.
		m := dying.renew()
		owner := m.Owners[f.partition-f.group.First]
		equal(f, owner.Node, f.node)
		if owner.Epoch <= first.epoch {
			f.Errorf("epoch %d follows %d", owner.Epoch, first.epoch)
		}
		equal(f, f.survived(), []bool{true, true, false})
		equal(f, dying.member(dying.node).Owned, 0)
	}},
	{"Lease/RenewalAfterItRanOutKeepsWhatNobodyClaimed", func(f *fixture) {
		dying := f.dying("dying")
		run := dying.created()
		f.await("a lease that runs out", func() bool { return !f.member(dying.node).Live })
		gone := f.member(dying.node)
		equal(f, [2]int64{gone.Left, gone.Expires}, [2]int64{0, gone.Seen + int64(brief)})
		equal(f, gone.Owned, 1)
		seen := f.renew()
		equal(f, len(seen.Nodes), 1)
		equal(f, seen.Owners[f.partition-f.group.First].Node, dying.node)
		dying.commits(dying.turn(run, 2)) // only a claim fences
		m := dying.renew()
		equal(f, m.Owners[f.partition-f.group.First].Epoch, dying.epoch)
		if again := f.member(dying.node); again.Seen <= gone.Seen {
			f.Errorf("a renewal made %+v of %+v", again, gone)
		}
		dying.commits(dying.turn(run, 3))
		equal(f, f.survived(), []bool{true, false})
	}},
	{"Lease/WhoRanOutIsAMemberStill", func(f *fixture) {
		dying := f.dying("dying")
		f.await("a lease that runs out", func() bool { return !f.member(dying.node).Live })
		dying.claim()
		f.must(dying.store.Release(f.Context(), dying.node, []int{f.partition}))
		equal(f, f.survived(), []bool{true, true, true})
	}},
	{"Lease/OfACloserHasToRunOut", func(f *fixture) {
		dying := f.dying("dying")
		f.must(dying.store.Close())
		f.await("the partition of a node whose store was closed", func() bool { return len(f.claims(f.partition)) == 1 })
		heir := f.owners()[2]
		if m := f.member("dying"); heir.Since < m.Seen+int64(brief) || m.Left != 0 {
			f.Errorf("%+v was taken over at %d", m, heir.Since)
		}
		patient := f.peer(f.describe("patient"))
		f.must(f.store.Close())
		equal(f, len(patient.claims(f.partition)), 0)
	}},
	{"Lease/NobodyIsTakenOverBeforeItIsOver", testNobodyIsTakenOverEarly},
	{"Lease/OneNodeWinsWhatManyClaim", func(f *fixture) {
		const rivals = 6
		f.must(f.store.Release(f.Context(), f.node, []int{f.partition}))
		var won atomic.Int32
		var peers [rivals]*fixture
		for i := range peers {
			peers[i] = f.peer(f.describe(string(rune('a' + i))))
		}
		atOnce(rivals, func(i int) {
			owned, err := peers[i].store.Claim(f.Context(), peers[i].node, []int{f.partition})
			f.well(err)
			won.Add(int32(len(owned)))
		})
		equal(f, won.Load(), 1)
		equal(f, len(f.owners()), 2)
	}},
}

// dying is a node with a brief lease, which owns our partition.
func (f *fixture) dying(id string) *fixture {
	f.Helper()
	f.must(f.store.Release(f.Context(), f.node, []int{f.partition}))
	dying := f.peer(f.describe(id, leased(brief)))
	dying.claim()
	return dying
}

// A node renews its lease while another claims its partition over and over. If a
// slow machine delays a renewal the claim succeeds rightly: the times tell.
func testNobodyIsTakenOverEarly(f *fixture) {
	node := f.dying("renewing")
	var answered atomic.Int64 // when the last renewal that was answered was asked for, by the clock of the store
	var silent, stop atomic.Bool
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop.Store(true)
	renewing := *node
	wg.Go(func() {
		defer silent.Store(true)
		for range 40 {
			asked := time.Now()
			m, err := renewing.tryRenew()
			if !f.well(err) || stop.Load() {
				return
			}
			answered.Store(m.Now - int64(time.Since(asked)))
			time.Sleep(brief / 20)
		}
	})
	f.await("the partition of a node that stopped renewing", func() bool {
		last, known, began := silent.Load(), answered.Load(), time.Now()
		owned := f.claims(f.partition)
		slow := time.Since(began) > brief/10 // then it may have read the clock long before it looked at the lease
		if len(owned) == 0 {
			return false
		}
		// A store may read the clock of Since a moment before it looks at the lease.
		if !slow && owned[0].Since < known+int64(brief*9/10) {
			f.Fatalf("a node that was seen at %d was taken over at %d, before its lease of %s was over", known, owned[0].Since, brief)
		}
		if !last { // it was slow: give it back until it is done
			f.must(f.store.Release(f.Context(), f.node, []int{f.partition}))
			node.claim()
		}
		return last
	})
}
