package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/store"
)

// commitChecks are about the answers of Commit.
var commitChecks = []check{
	{"Commit/NoTurns", func(f *fixture) {
		equal(f, len(f.commit()), 0)
	}},
	{"Commit/DurableTurnsAreRead", func(f *fixture) {
		run := f.created()
		second := f.turn(run, 2)
		f.commits(second)
		equal(f, f.history(run.ID), []store.TurnRow{row(f.first(run)), row(second)})
		equal(f, f.find(run.ID), run)
	}},
	{"Commit/SameTurnTwiceIsCommittedOnce", func(f *fixture) {
		run := f.newRun()
		first, second := f.first(run), f.turn(run, 2)
		f.commits(first)
		f.commits(first)
		f.commits(first, second)  // in another company
		f.commits(second)         // alone
		f.commits(second, second) // and twice in one batch
		equal(f, f.history(run.ID), []store.TurnRow{row(first), row(second)})
	}},
	{"Commit/SameTurnTwiceInItsFirstBatch", func(f *fixture) {
		run := f.newRun()
		first := f.first(run)
		f.commits(first, first)
		equal(f, f.history(run.ID), []store.TurnRow{row(first)})
	}},
	{"Commit/DurableTurnDoesNothingAgain", func(f *fixture) {
		run, other := f.created(), f.created()
		t := f.turn(run, 2, stating(store.RunState{Status: store.Running, Wake: 77}), attempting(store.Attempt{Call: 1, Number: 2, Prune: 1}),
			sending(store.Message{Partition: f.partition, WorkflowID: other.WorkflowID, Key: "hello"}))
		t.Calls, t.Closed = []store.Call{{Number: 1, State: store.Queued, Name: "a"}}, []int64{2}
		hooks := 0
		t.Hook = func(any) error { hooks++; return nil }
		f.commits(t)
		// Everything it wrote moves on.
		next := f.turn(run, 3, ending(store.Completed), attempting(store.Attempt{Call: 1, Number: 3, Prune: 2}), consuming(f.inbox()...))
		next.Calls, next.Closed = []store.Call{{Number: 2, State: store.Queued}}, []int64{1}
		f.commits(next)
		// A repeated commit changes none of it.
		f.commits(t)
		equal(f, f.find(run.ID).RunState, *next.State)
		equal(f, len(f.inbox()), 0)
		equal(f, f.calls(run.ID)[0].Number, 2)
		equal(f, f.attempts(run.ID)[0].Number, 3)
		equal(f, len(f.history(run.ID)), 3)
		equal(f, hooks, 1)
	}},
	{"Commit/AnotherTurnOfTheNumberIsStale", func(f *fixture) {
		run := f.created()
		other := f.created()
		rival := f.turn(run, 1, ending(store.Failed), calling(store.Call{Number: 1, State: store.Queued}),
			sending(store.Message{Partition: f.partition, WorkflowID: other.WorkflowID, Key: "no"}))
		rival.CommitID++
		f.refuses(rival, store.ErrStale)
		equal(f, f.find(run.ID), run)
		equal(f, len(f.calls(run.ID))+len(f.inbox()), 0)
		equal(f, f.history(run.ID), []store.TurnRow{row(f.first(run))})
	}},
	{"Commit/OldEpochIsFencedWhateverItWrites", func(f *fixture) {
		run, other := f.created(), f.created()
		f.posts(run, "waits")
		before := f.dump(run.ID)
		fresh := f.newRun()
		old := f.turn(run, 0)
		f.claim()
		for name, write := range map[string]func(t *store.Turn){
			"history":  func(t *store.Turn) { t.Number, t.CommitID, t.Events = 2, 2, []byte("x") },
			"state":    ending(store.Failed),
			"create":   func(t *store.Turn) { t.Create, t.Run = &fresh, fresh.ID },
			"call":     calling(store.Call{Number: 1, State: store.Queued}),
			"closed":   func(t *store.Turn) { t.Closed = []int64{1} },
			"attempt":  attempting(store.Attempt{Call: 1, Number: 1}),
			"consumed": consuming(f.inbox()...),
			"message": func(t *store.Turn) {
				t.Number = 2
				t.Messages = []store.Message{{Partition: f.partition, WorkflowID: other.WorkflowID, Key: "no"}}
			},
			"hook":    func(t *store.Turn) { t.Number, t.Hook = 2, func(any) error { f.Error("the hook ran"); return nil } },
			"nothing": func(t *store.Turn) {},
		} {
			turn := old
			write(&turn)
			if err := f.commit(turn)[0]; !errors.Is(err, store.ErrFenced) {
				f.Errorf("%s under an old epoch: %v", name, err)
			}
		}
		equal(f, f.dump(run.ID), before)
		f.none("", fresh.ID)
	}},
	{"Commit/EpochsThatNeverWereAreFenced", func(f *fixture) {
		run := f.created()
		for _, epoch := range []int64{0, -1, f.epoch - 1, f.epoch + 1} {
			f.refuses(f.turn(run, 2, under(epoch)), store.ErrFenced)
		}
	}},
	{"Commit/FencedTurnsDoNotHinderOthers", func(f *fixture) {
		run, other := f.created(), f.created()
		old := f.turn(run, 2)
		f.claim()
		current := f.turn(other, 2)
		for range 2 { // the second time, the other is durable
			errs := f.commit(old, current, old)
			f.is(errs[0], store.ErrFenced)
			f.is(errs[1], nil)
			f.is(errs[2], store.ErrFenced)
		}
		equal(f, len(f.history(run.ID)), 1)
		equal(f, len(f.history(other.ID)), 2)
	}},
	{"Commit/DurableIsDurableUnderAnyEpoch", func(f *fixture) {
		// What an owner wrote before it lost the partition is true for ever.
		run := f.created()
		first := f.first(run)
		f.claim()
		f.commits(first)
	}},
	{"Commit/NobodyCommitsToAFreePartition", func(f *fixture) {
		run := f.created()
		f.must(f.store.Leave(f.Context(), f.node))
		f.refuses(f.turn(run, 2), store.ErrFenced)
	}},
	{"Commit/NobodyOwnsAPartitionThatDoesNotExist", func(f *fixture) {
		run := f.newRun(in(f.partition + 1000))
		t := f.first(run)
		t.Partition = run.Partition
		errs := f.commit(t, f.first(f.newRun()))
		f.is(errs[0], store.ErrFenced)
		f.is(errs[1], nil)
	}},
	{"Commit/PartitionsOfOneDomain", func(f *fixture) {
		there := f.elsewhere()
		if domain := f.store.Info().Domain; domain(there) != domain(f.partition) {
			return // no turns of both may stand in one Commit
		}
		theirs := f.claims(there)[0].Epoch
		away := func() store.Turn {
			t := f.first(f.newRun(in(there)), under(theirs))
			t.Partition = there
			return t
		}
		stranger, old := away(), f.first(f.newRun())
		stranger.Epoch += 7
		f.claim()
		first, second, third := f.first(f.newRun()), away(), f.first(f.newRun())
		errs := f.commit(first, second, stranger, old, third)
		f.is(errors.Join(errs[0], errs[1], errs[4]), nil)
		f.is(errs[2], store.ErrFenced)
		f.is(errs[3], store.ErrFenced)
		equal(f, f.find(first.Run), *first.Create)
		equal(f, *must(f.store.Find(f.Context(), there, "", second.Run))(f), *second.Create)
		// One partition's loss is not the other's.
		f.must(f.store.Release(f.Context(), f.node, []int{there}))
		errs = f.commit(away(), f.first(f.newRun()))
		f.is(errs[0], store.ErrFenced)
		f.is(errs[1], nil)
	}},
	{"Commit/TurnOfAnUnknownRunIsNotFound", func(f *fixture) {
		known := f.created()
		ghost := f.newRun()
		for name, write := range map[string]func(t *store.Turn){
			"history": func(t *store.Turn) { t.Number = 1 },
			"state":   ending(store.Failed),
			"call":    calling(store.Call{Number: 1, State: store.Queued}),
			"attempt": attempting(store.Attempt{Call: 1, Number: 1}),
		} {
			errs := f.commit(f.turn(ghost, 0, write), f.turn(known, 2))
			if !errors.Is(errs[0], store.ErrNotFound) || errs[1] != nil {
				f.Errorf("%s of an unknown run: %v", name, errs)
			}
		}
		equal(f, len(f.history(ghost.ID))+len(f.calls(ghost.ID))+len(f.attempts(ghost.ID)), 0)
	}},
	{"Commit/MalformedTurnsDoNotHinderOthers", func(f *fixture) {
		run := f.created()
		malformed := []func(t *store.Turn){
			func(t *store.Turn) { t.Partition = -1 },
			func(t *store.Turn) { t.Number = -1 },
			func(t *store.Turn) { t.Run = "" },
			func(t *store.Turn) { t.Run = "a\x00b" },
			func(t *store.Turn) { t.Run = "\xff" },
			func(t *store.Turn) { t.State = &store.RunState{} },
			func(t *store.Turn) { t.State = &store.RunState{Status: store.Running, Wake: -5} },
			func(t *store.Turn) { t.Calls = []store.Call{{Number: 1}} },
			func(t *store.Turn) { t.Calls = []store.Call{{Number: 2, First: 2, State: store.Queued}} },
			func(t *store.Turn) { t.Calls = []store.Call{{Number: 2, First: -1, State: store.Queued}} },
			func(t *store.Turn) { t.Calls = []store.Call{{Number: 1 << 20, First: 1, State: store.Queued}} },
			func(t *store.Turn) { t.Calls = []store.Call{{Number: 1, State: store.Queued, Run: "another"}} },
			func(t *store.Turn) { t.Calls = []store.Call{{Number: 1, State: store.Queued, Name: "a\x00"}} },
			func(t *store.Turn) { t.Attempts = []store.Attempt{{Call: 1}} },
			func(t *store.Turn) { t.Attempts = []store.Attempt{{Call: 1, Number: 2, Prune: 2}} },
			func(t *store.Turn) { t.Attempts = []store.Attempt{{Call: 1, Number: 1, Reason: "\xc0"}} },
			func(t *store.Turn) { t.Messages = []store.Message{{Partition: f.partition, Key: "k"}} },
			func(t *store.Turn) { t.Messages = []store.Message{{Partition: f.partition, WorkflowID: "w"}} },
			func(t *store.Turn) {
				t.Messages = []store.Message{{Partition: -1, WorkflowID: "w", Key: "k"}}
			},
			func(t *store.Turn) {
				t.Number, t.Messages = 0, []store.Message{{Partition: f.partition, WorkflowID: "w", Key: "k"}}
			},
			func(t *store.Turn) { t.Number, t.Hook = 0, func(any) error { return nil } },
			func(t *store.Turn) { r := f.newRun(); r.Chain = ""; t.Create, t.Run = &r, r.ID },
			func(t *store.Turn) { r := f.newRun(); r.Type = ""; t.Create, t.Run = &r, r.ID },
			func(t *store.Turn) { r := f.newRun(); r.WorkflowID = ""; t.Create, t.Run = &r, r.ID },
			func(t *store.Turn) { r := f.newRun(); r.Status = ""; t.Create, t.Run = &r, r.ID },
			func(t *store.Turn) { r := f.newRun(); r.Partition++; t.Create, t.Run = &r, r.ID },
		}
		var batch []store.Turn
		for i, spoil := range malformed {
			bad := f.turn(run, int64(1000+i))
			spoil(&bad)
			batch = append(batch, bad, f.turn(run, int64(2+i)))
		}
		errs := f.commit(batch...)
		for i := range malformed {
			f.malformed(errs[2*i])
			f.is(errs[2*i+1], nil)
		}
		equal(f, len(f.history(run.ID)), len(malformed)+1)
	}},
	{"Commit/LargeMixedBatch", func(f *fixture) {
		// More than any multi-row statement holds, with all kinds of turns.
		var batch []store.Turn
		var want []error
		stale := f.created()
		refused := errors.New("refused by the hook")
		for i := range 517 {
			t := f.first(f.newRun())
			var answer error
			switch i % 101 {
			case 50:
				t.Epoch--
				answer = store.ErrFenced
			case 60:
				t = f.turn(stale, 1)
				t.CommitID += int64(i)
				answer = store.ErrStale
			case 70:
				t.Hook = func(any) error { return refused }
				answer = refused
			case 80:
				t.Create = nil
				answer = store.ErrNotFound
			}
			batch, want = append(batch, t), append(want, answer)
		}
		for range 2 {
			for i, err := range f.commit(batch...) {
				f.is(err, want[i])
				_, missing := f.store.Find(f.Context(), f.partition, "", batch[i].Run)
				if want[i] != store.ErrStale && (missing != nil) != (want[i] != nil) {
					f.Fatalf("turn %d was answered %v; its run: %v", i, want[i], missing)
				}
			}
		}
	}},
	{"Commit/OrderWithinABatch", func(f *fixture) {
		run := f.newRun()
		batch := []store.Turn{f.first(run)}
		for n := range int64(5) {
			t := f.turn(run, n+2, stating(store.RunState{Status: store.Running, Wake: 100 + n}))
			if n%2 == 1 {
				t.Closed = []int64{1}
			} else {
				t.Calls = []store.Call{{Number: 1, State: store.Queued, Attempt: int(n)}}
			}
			batch = append(batch, t)
		}
		f.commits(batch...)
		equal(f, f.find(run.ID).Wake, 104)
		equal(f, f.calls(run.ID), []store.Call{{Partition: f.partition, Run: run.ID, Number: 1, State: store.Queued, Attempt: 4}})
	}},
	{"Commit/CanceledContextLeavesNothingAndHarmsNobody", func(f *fixture) {
		run := f.created()
		if _, err := f.store.Commit(canceled(), []store.Turn{f.turn(run, 2)}); err == nil || store.Unavailable(err) {
			f.Fatalf("a canceled commit answered %v", err)
		}
		equal(f, len(f.history(run.ID)), 1)
		f.commits(f.turn(run, 2))
	}},
}

// dump shows all that is kept of a run and the inbox.
func (f *fixture) dump(run string) string {
	f.Helper()
	record := f.load(run)
	var s strings.Builder
	fmt.Fprintf(&s, "%+v %+v %+v", record, f.attempts(run), f.inbox())
	runs := must(f.store.List(f.Context(), store.Filter{}))(f)
	slices.SortFunc(runs, func(a, b store.Run) int { return strings.Compare(a.ID, b.ID) })
	fmt.Fprintf(&s, " %+v", runs)
	return s.String()
}
