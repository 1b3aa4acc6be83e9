package storetest

import (
	"fmt"

	"github.com/perdure/perdure/store"
)

// groupChecks are about groups of nodes and the partitions they have.
var groupChecks = []check{
	{"Group/TheFirstIsTheOneWithoutAName", func(f *fixture) {
		equal(f, f.makeGroup(""), store.Group{Partitions: f.store.Info().Partitions})
		f.claims(0)
	}},
	{"Group/EachHasPartitionsOfItsOwn", func(f *fixture) {
		taken := map[int]string{}
		groups := map[string]store.Group{}
		for _, name := range []string{"", "a", "A", "b", "'; --", "ü 𝄞", f.group.Name} {
			g := f.makeGroup(name)
			groups[name] = g
			equal(f, g.Name, name)
			equal(f, g.Partitions, f.store.Info().Partitions)
			for _, p := range g.All() {
				if other, ok := taken[p]; ok {
					f.Fatalf("partition %d belongs to %q and %q", p, other, name)
				}
				taken[p] = name
			}
		}
		equal(f, groups[f.group.Name], f.group)
		f.reopen()
		for name, g := range groups {
			equal(f, f.makeGroup(name), g)
		}
	}},
	{"Group/NamesThatNobodyCanKeepAreRefused", func(f *fixture) {
		for _, name := range []string{"\xff", "a\x00b"} {
			f.malformed(errorOf(f.store.Group(f.Context(), name)))
		}
	}},
	{"Group/ManyMakeItAtOnce", func(f *fixture) {
		const makers = 8
		var made [makers][4]store.Group
		atOnce(makers, func(i int) {
			s := f.store
			if i%2 == 1 {
				s = f.open()
			}
			for j := range made[i] {
				g, err := s.Group(f.Context(), fmt.Sprint("group ", (i+j)%4))
				f.well(err)
				made[i][(i+j)%4] = g
			}
		})
		for i := range makers {
			equal(f, made[i], made[0])
		}
		for j := range made[0] {
			for k := range j {
				if a, b := made[0][j], made[0][k]; a.Has(b.First) || b.Has(a.First) {
					f.Errorf("%+v and %+v share partitions", a, b)
				}
			}
		}
	}},
	{"Group/OneWorkflowIDInTwoGroupsIsTwoRuns", func(f *fixture) {
		run, there := f.created(), f.makeGroup("another group")
		twin := f.started(in(there.First), rivaling(run), func(r *store.Run) { r.Group = there.Name })
		for _, r := range []store.Run{run, twin} {
			equal(f, *must(f.store.Find(f.Context(), r.Partition, run.WorkflowID, ""))(f), r)
			f.must(f.store.Post(f.Context(), store.Message{Partition: r.Partition, WorkflowID: r.WorkflowID, Key: "k"}))
		}
		equal(f, keys(f.inbox()), []string{"k"})
		equal(f, keys(f.inbox(there.First)), []string{store.CreatedKey(twin.ID), "k"})
	}},
}
