package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// copyChecks are about seals and the rows of copies.
var copyChecks = []check{
	{"Copies/ALiveNodeRefusesTheSeal", func(f *fixture) {
		if _, is := errors.AsType[*store.InUseError](f.store.Seal(f.Context(), store.Seal{}, source, nil)); !is {
			f.Fatal("a database was closed under a live node")
		}
		f.sealed(store.Seal{})
		f.commits(f.first(f.newRun()))
	}},
	{"Copies/ALiveWorkerRefusesTheSeal", func(f *fixture) {
		f.attend("worker-1")
		f.must(f.store.Leave(f.Context(), f.node))
		if _, is := errors.AsType[*store.InUseError](f.store.Seal(f.Context(), store.Seal{}, source, nil)); !is {
			f.Fatal("a database was closed under a live worker")
		}
	}},
	{"Copies/AClosedDatabaseRefusesWhatWrites", func(f *fixture) {
		run := f.created()
		next := f.turn(run, 2)
		f.must(f.store.Leave(f.Context(), f.node))
		f.must(f.store.Seal(f.Context(), store.Seal{}, source, nil))
		writes := map[string]func() error{
			"Create": func() error { return f.store.Create(f.Context(), f.newRun()) },
			"Post": func() error {
				return f.store.Post(f.Context(), store.Message{Partition: run.Partition, WorkflowID: run.WorkflowID, Key: "k", Kind: "signal"})
			},
			"Switch": func() error {
				return errorOf(f.store.Switch(f.Context(), store.Switch{Group: f.group.Name, Kind: "activity", Name: "n", Request: "r"}))
			},
			"Attend": func() error { return errorOf(f.store.Attend(f.Context(), f.worker("worker-1"))) },
			"Join":   func() error { return f.store.Join(f.Context(), f.describe("node-2")) },
		}
		for name, write := range writes {
			refused, is := errors.AsType[*store.SealedError](write())
			if !is || refused.Seal.Other != source.Other || refused.Seal.Since != source.Since || refused.Seal.State != source.State || refused.Location == "" {
				f.Errorf("%s: %v", name, write())
			}
			if store.Unavailable(write()) {
				f.Errorf("%s: waiting does not help", name)
			}
		}
		if errs, err := f.store.Commit(f.Context(), []store.Turn{next}); err == nil && errs.Errors[0] == nil {
			f.Error("a turn was committed")
		}
		equal(f, f.find(run.ID).ID, run.ID)
		f.makeGroup("yet another group")

		reopened := f.open()
		seal := must(reopened.Sealed(f.Context()))(f)
		equal(f, seal, source)
		f.must(f.store.Seal(f.Context(), source, store.Seal{}, nil))
		for name, write := range writes {
			if err := write(); err != nil {
				f.Errorf("%s after the seal was broken: %v", name, err)
			}
		}
	}},
	{"Copies/ASealReplacesTheOneItNames", func(f *fixture) {
		f.must(f.store.Leave(f.Context(), f.node))
		f.is(f.store.Seal(f.Context(), target, source, nil), store.ErrStale)
		f.must(f.store.Seal(f.Context(), store.Seal{}, target, nil))
		f.must(f.store.Seal(f.Context(), store.Seal{}, target, nil)) // again
		noted := target
		noted.Note = "half"
		f.must(f.store.Seal(f.Context(), target, noted, nil))
		f.is(f.store.Seal(f.Context(), target, opened, nil), store.ErrStale)
		f.must(f.store.Seal(f.Context(), noted, opened, nil))
		f.sealed(opened)
		if f.store.Seal(f.Context(), opened, opened, &store.Rows{}) == nil {
			f.Error("rows went into an open database")
		}
		f.must(f.store.Join(f.Context(), f.describe("node-2")))
	}},
	{"Copies/EverythingArrives", func(f *fixture) {
		f.fillForCopy()
		all := f.export(3)
		if len(all.Runs) < 5 || len(all.Messages) < 2 || len(all.Tallies) < 1 || len(all.Switches) < 1 {
			f.Fatalf("%d runs, %d messages, %d tallies, %d switches", len(all.Runs), len(all.Messages), len(all.Tallies), len(all.Switches))
		}
		equal(f, f.export(1000), all)

		there := *f
		there.store = f.fresh()
		there.makeGroup(f.group.Name)
		there.makeGroup("another group")
		// There each partition has the number it has here: both have the same groups.
		f.must(there.store.Seal(f.Context(), store.Seal{}, target, nil))
		half := target
		half.Note = "half"
		f.must(there.store.Seal(f.Context(), target, half, &store.Rows{Facts: all.Facts, Runs: all.Runs, Messages: all.Messages}))
		f.is(there.store.Seal(f.Context(), target, half, &store.Rows{Runs: all.Runs}), nil) // a repeated call
		f.must(there.store.Seal(f.Context(), half, opened, &store.Rows{Tallies: all.Tallies, Switches: all.Switches}))
		equal(f, there.export(2), all)
		equal(f, must(there.store.Secret(f.Context()))(f), all.Facts.Secret)

		f.must(there.store.Join(f.Context(), f.describe("node-3")))
		there.node, there.epoch = "node-3", 0
		there.claim()
		for _, w := range all.Runs {
			if w.Run.Partition != there.partition || w.Run.ID == "" {
				continue
			}
			equal(f, there.find(w.Run.ID), f.find(w.Run.ID)) // exports are coded, what is read is not
			equal(f, there.calls(w.Run.ID), f.calls(w.Run.ID))
			equal(f, there.attempts(w.Run.ID), f.attempts(w.Run.ID))
		}
		if _, is := errors.AsType[*store.ConflictError](there.store.Create(f.Context(), f.again(all.Runs[0].Run))); !is {
			f.Error("the workflow ID of a copied run is free")
		}
	}},
	{"Copies/RowsThatExistAreRefusedWhole", func(f *fixture) {
		f.fillForCopy()
		all := f.export(1000)
		f.must(f.store.Seal(f.Context(), store.Seal{}, target, nil))
		fresh := all.Runs[0]
		fresh.Run.ID, fresh.Run.WorkflowID = "fresh", "fresh"
		fresh.Run.Attributes, fresh.Calls, fresh.Attempts, fresh.Tasks, fresh.Turns = nil, nil, nil, nil, nil
		if f.store.Seal(f.Context(), target, opened, &store.Rows{Runs: []store.WholeRun{fresh, all.Runs[1]}}) == nil {
			f.Fatal("a run was inserted twice")
		}
		f.sealed(target)
		f.is(errorOf(f.store.Find(f.Context(), fresh.Run.Partition, "", "fresh")), store.ErrNotFound)
	}},
}

var (
	source = store.Seal{State: store.SealedSource, Copy: "copy-1", Other: "the server's 100%", Since: 17}
	target = store.Seal{State: store.SealedTarget, Copy: "copy-1", Other: "a file", Since: 17, Note: "{}"}
	opened = store.Seal{State: store.SealOpened, Copy: "copy-1", Other: "a file", Since: 17}
)

func (f *fixture) sealed(want store.Seal) {
	f.Helper()
	equal(f, must(f.store.Sealed(f.Context()))(f), want)
}

// again returns a run that is not on record and has the workflow ID of another.
func (f *fixture) again(r store.Run) store.Run {
	return f.newRun(in(r.Partition), rivaling(r), func(other *store.Run) { other.Group = r.Group })
}

// fillForCopy makes rows of every kind, and leaves.
func (f *fixture) fillForCopy() {
	f.Helper()
	there := f.other()
	for i, at := range []*fixture{f, there} {
		for n := range 3 {
			run := at.newRun()
			first := at.first(run, counting(store.Tally{TallyKey: tallyOf(int64(i), "charge"), Failed: 1}))
			first.Events = []byte{0, 1, byte(n)}
			first.Attributes = &[]store.Attribute{{Name: "tenant", Value: fmt.Sprint(n)}}
			first.Calls = []store.Call{{Number: 1, State: store.Backoff, Name: "charge", Attempt: 2, Due: 99, Data: []byte("{}")}}
			first.Attempts = []store.Attempt{{Call: 1, Number: 1, Name: "charge", Outcome: "failed", ErrorType: "e", Reason: "backoff", Started: 1, Ended: 2, Data: []byte(`\x`)}}
			first.Offered = []store.Task{{TaskRef: store.TaskRef{Number: 2, Attempt: 1}, WorkflowID: run.WorkflowID, Queue: "q", Name: "ship", Offered: 5, Data: []byte("work")}}
			at.commits(first)
			for _, key := range []string{"b", "a"} {
				f.must(f.store.Post(f.Context(), store.Message{Partition: run.Partition, WorkflowID: run.WorkflowID, Key: key, Kind: "signal", Data: []byte(key)}))
			}
			if n == 0 { // the chain continues
				next := at.newRun(following(run))
				at.commits(at.turn(run, 2, continuing(next)))
			}
		}
	}
	f.switches(store.Switch{Group: f.group.Name, Kind: "activity", Name: "charge", Off: true, Lasts: int64(time.Hour), Request: "r1", By: "me", Why: "it's 100% down"})
	for _, at := range []*fixture{f, there} {
		f.must(f.store.Leave(f.Context(), at.node))
	}
}

// export reads everything, a few rows at a time, in an order that two stores share.
func (f *fixture) export(limit int) *store.Rows {
	f.Helper()
	all := &store.Rows{}
	for at := (store.Cursor{}); at.Part != store.CopyEnd; {
		rows := must(f.store.Export(f.Context(), at, limit))(f)
		if at.Part == store.CopyFacts {
			all.Facts = rows.Facts
			all.Facts.Clock = 0
		} else if rows.Facts != nil {
			f.Fatalf("facts come after %+v, too", at)
		}
		all.Runs, all.Messages = append(all.Runs, rows.Runs...), append(all.Messages, rows.Messages...)
		all.Tallies, all.Switches = append(all.Tallies, rows.Tallies...), append(all.Switches, rows.Switches...)
		at = rows.Next
	}
	for i := range all.Messages {
		all.Messages[i].Sequence = 0
	}
	slices.SortFunc(all.Runs, func(a, b store.WholeRun) int { return cmp.Compare(a.Run.ID, b.Run.ID) })
	slices.SortStableFunc(all.Messages, func(a, b store.Message) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.WorkflowID, b.WorkflowID))
	})
	slices.SortFunc(all.Tallies, func(a, b store.Tally) int { return a.Compare(b.TallyKey) })
	return all
}
