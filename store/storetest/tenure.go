package storetest

import "github.com/perdure/perdure/store"

// tenureChecks are about owning partitions, as far as one node can show it.
var tenureChecks = []check{
	{"Tenure/OnlyAMemberMayClaim", func(f *fixture) {
		f.is(errorOf(f.store.Claim(f.Context(), "stranger", []int{f.partition})), store.ErrReplaced)
		f.commits(f.first(f.newRun())) // the owner is who it was
		f.must(f.store.Leave(f.Context(), f.node))
		f.is(errorOf(f.store.Claim(f.Context(), f.node, []int{f.partition})), store.ErrReplaced)
	}},
	{"Tenure/ClaimRaisesTheEpochAndKeepsARecord", func(f *fixture) {
		f.claim()
		f.must(f.store.Leave(f.Context(), f.node))
		f.join("node-2")
		owners := f.owners()
		equal(f, len(owners), 3)
		for i, node := range []string{"node-1", "node-1", "node-2"} {
			o := owners[i]
			if o.Node != node || o.Partition != f.partition || o.Since == 0 || i > 0 && (o.Epoch <= owners[i-1].Epoch || o.Since < owners[i-1].Since) {
				f.Errorf("owner %d is %+v", i, o)
			}
		}
		equal(f, owners[2].Epoch, f.epoch)
	}},
	{"Tenure/ClaimAnswersWhatOwnersTells", func(f *fixture) {
		owned := f.claims(f.partition)
		equal(f, f.owners()[1], owned[0])
	}},
	{"Tenure/ClaimByPartitionAndOfEachOnce", func(f *fixture) {
		there := f.elsewhere()
		owned := f.claims(max(there, f.partition), min(there, f.partition), there)
		equal(f, len(owned), 2)
		if owned[0].Partition >= owned[1].Partition {
			f.Errorf("out of order: %+v", owned)
		}
		equal(f, f.member(f.node).Owned, 2)
	}},
	{"Tenure/ClaimOfNoPartitionAndOfUnknownOnes", func(f *fixture) {
		equal(f, len(f.claims()), 0)
		for _, p := range []int{f.partition + 1000, -1} {
			f.malformed(errorOf(f.store.Claim(f.Context(), f.node, []int{f.partition, p})))
		}
		f.commits(f.first(f.newRun())) // none was claimed
	}},
	{"Tenure/ReleaseFreesAndFences", func(f *fixture) {
		run := f.created()
		f.must(f.store.Release(f.Context(), f.node, []int{f.partition + 1000, f.partition, f.partition}))
		f.refuses(f.turn(run, 2), store.ErrFenced)
		f.must(f.store.Release(f.Context(), f.node, []int{f.partition}))
		f.is(f.store.Release(f.Context(), f.node, nil), nil)
		f.malformed(f.store.Release(f.Context(), f.node, []int{-1}))
		owner := f.renew().Owners[f.partition-f.group.First]
		equal(f, owner.Node, "")
		equal(f, owner.Epoch, f.epoch)
		equal(f, f.member(f.node).Owned, 0)
		f.claim()
		f.commits(f.turn(run, 2))
	}},
	{"Tenure/ReleaseLeavesWhatIsNotTheNodes", func(f *fixture) {
		f.must(f.store.Release(f.Context(), "stranger", []int{f.partition}))
		f.must(f.store.Release(f.Context(), "", []int{f.partition, f.elsewhere()}))
		f.commits(f.first(f.newRun()))
		equal(f, f.survived(), []bool{false})
	}},
	{"Tenure/SurvivedOfEachEnd", func(f *fixture) {
		equal(f, f.survived(), []bool{false}) // it is not over
		f.renew()
		equal(f, f.survived(), []bool{false})
		f.claim()
		equal(f, f.survived(), []bool{true, false}) // claimed again
		f.must(f.store.Release(f.Context(), f.node, []int{f.partition}))
		equal(f, f.survived(), []bool{true, true})
		f.claim()
		equal(f, f.survived(), []bool{true, true, false})
		f.must(f.store.Leave(f.Context(), f.node))
		equal(f, f.survived(), []bool{true, true, true})
		f.join("node-2")
		equal(f, f.survived(), []bool{true, true, true, false})
	}},
	{"Tenure/EndedIsWhoLeftOrWasSuperseded", func(f *fixture) {
		equal(f, f.ended(), []bool{false}) // it is not over
		f.claim()
		equal(f, f.ended(), []bool{false, false}) // its own is over, it is a member
		f.reopen()
		f.join("node-2") // of the same name
		equal(f, f.ended(), []bool{true, true, false})
		f.must(f.store.Leave(f.Context(), f.node))
		f.join("node-3")
		equal(f, f.ended(), []bool{true, true, true, false})
	}},
	{"Tenure/WhoClosesWithoutLeavingHasNotSurvived", func(f *fixture) {
		first := *f
		f.reopen()
		f.join("node-2")
		equal(f, f.survived(), []bool{false, false})
		f.left(first.node)
		// Unless it turns out that it lives.
		first.store = f.store
		f.is(errorOf(first.tryRenew()), store.ErrReplaced)
		equal(f, f.survived(), []bool{true, false})
	}},
	{"Tenure/ResultNowIsTheClockOfThePartition", func(f *fixture) {
		var last int64
		for range 3 {
			result := must(f.store.Commit(f.Context(), []store.Turn{f.first(f.newRun())}))(f)
			if result.Now <= 0 || result.Now < last {
				f.Fatalf("the clock went from %d to %d", last, result.Now)
			}
			last = result.Now
		}
		owned := f.claims(f.partition)
		if owned[0].Clock < last || owned[0].Since < last {
			f.Fatalf("the last commit saw %d, the claim after it %+v", last, owned[0])
		}
	}},
}
