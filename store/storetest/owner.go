package storetest

import (
	"errors"
	"strings"

	"github.com/perdure/perdure/store"
)

// ownerChecks are about nodes, ownership and loading.
var ownerChecks = []check{
	{"Owner/JoinIsRepeatable", func(f *fixture) {
		f.must(f.store.Join(f.Context(), store.Node{ID: f.node}))
		f.commits(f.first(f.newRun())) // and takes nothing away
		f.malformed(f.store.Join(f.Context(), store.Node{}))
	}},
	{"Owner/SecondEngineIsRefusedUntilTheFirstIsGone", func(f *fixture) {
		second := f.open()
		for _, s := range []store.Store{second, f.store} {
			err := s.Join(f.Context(), store.Node{ID: "rival"})
			var inUse *store.InUseError
			if !errors.As(err, &inUse) {
				f.Skipf("several engines may join: %v", err)
			}
			if inUse.Location != f.store.Info().Location || !strings.Contains(inUse.Holder, "node-1") || store.Unavailable(err) {
				f.Errorf("the refusal does not say who holds what: %v", err)
			}
		}
		f.must(f.store.Leave(f.Context(), f.node))
		f.must(second.Join(f.Context(), store.Node{ID: "node-2"}))
		f.must(second.Close())
		f.must(f.store.Join(f.Context(), store.Node{ID: "node-3"}))
	}},
	{"Owner/OnlyANodeThatJoinedMayClaim", func(f *fixture) {
		_, err := f.store.Claim(f.Context(), "stranger", []int{f.partition})
		f.malformed(err)
		f.commits(f.first(f.newRun())) // the owner is who it was
		f.must(f.store.Leave(f.Context(), f.node))
		_, err = f.store.Claim(f.Context(), f.node, []int{f.partition})
		f.malformed(err)
	}},
	{"Owner/LeaveIsRepeatableAndFreesOnlyItsOwn", func(f *fixture) {
		f.must(f.store.Leave(f.Context(), "nobody"))
		f.commits(f.first(f.newRun()))
		f.must(f.store.Leave(f.Context(), f.node))
		f.must(f.store.Leave(f.Context(), f.node))
		f.refuses(f.first(f.newRun()), store.ErrFenced)
		f.join("node-2")
		f.commits(f.first(f.newRun()))
	}},
	{"Owner/ClaimRaisesTheEpochAndKeepsARecord", func(f *fixture) {
		f.claim()
		f.must(f.store.Leave(f.Context(), f.node))
		f.join("node-2")
		owners, err := f.store.Owners(f.Context(), f.partition)
		f.must(err)
		equal(f, len(owners), 3)
		for i, node := range []string{"node-1", "node-1", "node-2"} {
			o := owners[i]
			if o.Node != node || o.Partition != f.partition || o.Since == 0 || i > 0 && (o.Epoch <= owners[i-1].Epoch || o.Since < owners[i-1].Since) {
				f.Errorf("owner %d is %+v", i, o)
			}
		}
		equal(f, owners[2].Epoch, f.epoch)
	}},
	{"Owner/ClaimOfNoPartitionAndOfUnknownOnes", func(f *fixture) {
		owned, err := f.store.Claim(f.Context(), f.node, nil)
		f.must(err)
		equal(f, len(owned), 0)
		_, err = f.store.Claim(f.Context(), f.node, []int{f.partition, f.partition + 1})
		f.malformed(err)
		f.commits(f.first(f.newRun())) // none was claimed
	}},
	{"Owner/ResultNowIsTheClockOfThePartition", func(f *fixture) {
		var last int64
		for range 3 {
			result, err := f.store.Commit(f.Context(), []store.Turn{f.first(f.newRun())})
			f.must(err)
			if result.Now <= 0 || result.Now < last {
				f.Fatalf("the clock went from %d to %d", last, result.Now)
			}
			last = result.Now
		}
		owned, err := f.store.Claim(f.Context(), f.node, []int{f.partition})
		f.must(err)
		if owned[0].Clock < last || owned[0].Since < last {
			f.Fatalf("the last commit saw %d, the claim after it %+v", last, owned[0])
		}
	}},
	{"Load/EverythingOfARun", func(f *fixture) {
		run := f.newRun()
		first, second := f.first(run), f.turn(run, 2)
		second.Calls = []store.Call{{Number: 3, State: store.Backoff, Name: "charge", Attempt: 2, Due: 55, Data: []byte("x")}}
		f.commits(f.first(f.newRun()), first, second, f.first(f.newRun()))
		record, err := f.store.Load(f.Context(), f.partition, run.ID)
		f.must(err)
		call := second.Calls[0]
		call.Partition, call.Run = f.partition, run.ID
		equal(f, *record, store.Record{Run: run, Turns: []store.TurnRow{row(first), row(second)}, Calls: []store.Call{call}})
	}},
	{"Load/UnknownRun", func(f *fixture) {
		_, err := f.store.Load(f.Context(), f.partition, "nobody")
		f.is(err, store.ErrNotFound)
	}},
	{"Load/RunWithoutHistory", func(f *fixture) {
		run := f.newRun()
		f.must(f.store.Create(f.Context(), run))
		record, err := f.store.Load(f.Context(), f.partition, run.ID)
		f.must(err)
		equal(f, *record, store.Record{Run: run})
	}},
}
