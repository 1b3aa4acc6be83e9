package storetest

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/perdure/perdure/store"
)

// runChecks are about creating runs with turns, chains and wake times.
var runChecks = []check{
	{"Create/WithATurnConflictsWithATakenID", func(f *fixture) {
		run := f.created()
		rival, bystander := f.newRun(rivaling(run)), f.newRun()
		for range 2 {
			errs := f.commit(f.first(rival), f.first(bystander))
			f.conflict(errs[0], run)
			f.is(errs[1], nil)
		}
		f.none("", rival.ID)
		equal(f, len(f.history(rival.ID)), 0)
		// A closed run has its ID still.
		f.closes(run, 2, store.Completed)
		run.RunState = closed(store.Completed)
		f.conflict(f.commit(f.first(rival))[0], run)
	}},
	{"Create/RivalsInOneBatch", func(f *fixture) {
		run := f.newRun()
		errs := f.commit(f.first(run), f.first(f.newRun(rivaling(run))))
		f.is(errs[0], nil)
		f.conflict(errs[1], run)
	}},
	{"Create/RunIDOfAnotherWorkflowIsRefused", func(f *fixture) {
		run := f.created()
		impostor := f.newRun(func(r *store.Run) { r.ID = run.ID })
		t := f.first(impostor)
		t.Number, t.CommitID = 2, 2
		f.malformed(f.commit(t)[0])
		f.malformed(f.store.Create(f.Context(), impostor))
		equal(f, f.find(run.ID), run)
	}},
	{"Create/FirstTurnOfARunThatAClientCreated", func(f *fixture) {
		run := f.started()
		f.commits(f.first(run, stating(store.RunState{Status: store.Running, Wake: 5})))
		equal(f, len(f.history(run.ID)), 1)
		equal(f, f.find(run.ID).Wake, 5)
	}},
	{"Create/WithoutAHistoryIsDurableOnceTheRunExists", func(f *fixture) {
		run := f.newRun()
		t := f.turn(run, 0, creating(run), sending(store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: "begin"}))
		f.commits(t)
		f.commits(f.turn(run, 1, consuming(f.inbox()[0]), ending(store.Completed)))
		f.commits(t) // again, late
		equal(f, len(f.inbox()), 0)
		equal(f, f.find(run.ID).Status, store.Completed)
	}},
	{"Create/ChainGoesOnInTheTurnThatClosesItsPredecessor", func(f *fixture) {
		run := f.created()
		next := f.newRun(following(run), func(r *store.Run) { r.Attempt = 2 })
		f.conflict(f.commit(f.turn(run, 2, creating(next)))[0], run) // it is open still
		equal(f, len(f.history(run.ID)), 1)
		t := f.turn(run, 2, continuing(next))
		f.commits(t)
		f.commits(t)
		equal(f, f.latest(run.WorkflowID), next)
		equal(f, f.find(run.ID).Status, store.Continued)
		f.commits(f.turn(next, 1))
		// The first of the chain is known for ever: creating it again is done.
		f.must(f.store.Create(f.Context(), run))
		equal(f, len(f.inbox()), 0)
		// And on, by a turn of its own after the end of the one before.
		third := f.newRun(following(run))
		f.commits(f.turn(next, 2, ending(store.Failed)), f.first(third))
		equal(f, f.latest(run.WorkflowID), third)
	}},
	{"Create/AnotherChainDoesNotGoOn", func(f *fixture) {
		run := f.created()
		err := f.commit(f.turn(run, 2, ending(store.Completed), creating(f.newRun(rivaling(run)))))[0]
		if conflict, is := errors.AsType[*store.ConflictError](err); !is || conflict.Existing.ID != run.ID {
			f.Fatalf("got %v, want a ConflictError about %s", err, run.ID)
		}
		equal(f, f.find(run.ID), run)
	}},
	{"Create/SuccessorOfAnUnknownRunIsNotFound", func(f *fixture) {
		next := f.newRun()
		f.refuses(f.turn(f.newRun(), 1, creating(next)), store.ErrNotFound)
		f.none("", next.ID)
	}},
	{"Due/WindowsHotAndNever", func(f *fixture) {
		wakes := map[string]int64{}
		add := func(wake int64) string {
			run := f.created(waking(wake))
			wakes[run.ID] = wake
			return run.ID
		}
		ten, hot, never, twenty, far := add(10), add(store.Hot), add(store.Never), add(20), add(store.Never-1)
		w := func(ids ...string) (list []store.Wake) {
			for _, id := range ids {
				list = append(list, store.Wake{Partition: f.partition, Run: id, Time: wakes[id]})
			}
			return list
		}
		equal(f, f.due(-1, store.Never, 0), w(hot, ten, twenty, far))
		equal(f, f.due(-1, 0, 0), w(hot))
		equal(f, f.due(0, 10, 0), w(ten))
		equal(f, f.due(9, 20, 0), w(ten, twenty))
		equal(f, f.due(10, 20, 0), w(twenty))
		equal(f, f.due(-1, 20, 2), w(hot, ten))
		equal(f, f.due(20, 20, 0), nil)
		equal(f, f.due(20, 10, 0), nil)
		equal(f, f.due(store.Never, store.Never, 0), nil)
		// Wake times change with the state, to and from the special ones.
		t := f.turn(store.Run{ID: ten}, 0, stating(store.RunState{Status: store.Running, Wake: store.Never}))
		f.commits(t, f.turn(store.Run{ID: never}, 0, stating(store.RunState{Status: store.Running, Wake: 15})))
		wakes[never] = 15
		equal(f, f.due(-1, 20, 0), w(hot, never, twenty))
		equal(f, f.find(ten).Wake, store.Never)
	}},
	{"Due/RunsInLineByPriorityThenAge", func(f *fixture) {
		var want []store.Wake
		for _, r := range []struct {
			priority  int
			created   int64
			partition int
		}{{0, 9_000, f.partition}, {-5, 1_000, f.partition}, {1000, 8_000, f.elsewhere()}, {0, 2_000_000, f.partition}, {-1000, 1_000, f.partition}, {1000, 4_000, f.partition}} {
			run := f.started(in(r.partition), waking(store.InLine(r.priority, r.created)), func(run *store.Run) {
				run.Priority, run.Created = r.priority, r.created
			})
			want = append(want, store.Wake{Partition: r.partition, Run: run.ID, Time: run.Wake})
		}
		want = []store.Wake{want[5], want[2], want[0], want[3], want[1], want[4]}
		line := func(limit int) []store.Wake {
			return must(f.store.Due(f.Context(), []int{f.partition, f.elsewhere()}, math.MinInt64, store.LastInLine, limit))(f)
		}
		equal(f, line(0), want)
		equal(f, line(4), want[:4])
		equal(f, f.due(-1, store.Never, 0), nil)
		f.begins(want[0].Run)
		equal(f, line(0), want[1:])
		equal(f, f.due(-1, 0, 0), []store.Wake{{Partition: f.partition, Run: want[0].Run}})
	}},
	{"Line/KeysTakeTurns", func(f *fixture) {
		there := f.elsewhere()
		var ids []string
		add := func(partition int, key string, weight, priority int) {
			ids = append(ids, f.started(in(partition), func(r *store.Run) {
				r.Key, r.Weight, r.Priority, r.Created = key, weight, priority, int64(1000+len(ids))
				r.Wake = r.WakeInLine()
			}).ID)
		}
		for range 5 {
			add(f.partition, "a", 0, 0) // 0 to 4
		}
		add(f.partition, "a", 0, 7) // 5
		add(f.partition, "b", 2, 0) // 6
		add(f.partition, "b", 2, 0) // 7
		add(f.partition, "b", 2, 0) // 8
		add(f.partition, "c", 0, 0) // 9
		add(there, "z", 0, 0)       // 10
		add(f.partition, "", 0, 0)  // 11, which is not in line by its key
		line := func(from string, limit int, partitions ...int) []int {
			list := must(f.store.Line(f.Context(), store.LineRead{Partitions: partitions, From: from, Limit: limit}))(f)
			return each(list, func(r store.LineRun) int { return slices.Index(ids, r.Run) })
		}
		equal(f, line("", 3, f.partition), []int{5, 6, 7})
		equal(f, line("", 6, f.partition), []int{5, 6, 7, 9, 0, 8})
		equal(f, line("b", 4, f.partition), []int{6, 7, 9, 5})
		equal(f, line("bb", 2, f.partition), []int{9, 5})
		equal(f, line("", 4, f.partition, there), []int{5, 6, 10})
		equal(f, must(f.store.Line(f.Context(), store.LineRead{Partitions: []int{there}, Limit: 1}))(f), []store.LineRun{{Partition: there, Run: ids[10], Key: "z", Created: 1010}})
		equal(f, len(f.due(math.MinInt64, store.LastInLine, 0)), 1)
		f.begins(ids[5])
		equal(f, line("", 3, f.partition), []int{0, 6, 7})
	}},
	{"Due/RunsOfOneWakeTimeAreNeverCut", func(f *fixture) {
		const n = 50
		var ids []string
		for range n {
			ids = append(ids, f.created(waking(1000)).ID)
		}
		early, late := f.created(waking(999)), f.created(waking(1001))
		list := f.due(0, 5000, 3)
		equal(f, len(list), n+1)
		equal(f, list[0].Run, early.ID)
		slices.Sort(ids)
		slices.SortFunc(list[1:], func(a, b store.Wake) int { return strings.Compare(a.Run, b.Run) })
		for i, id := range ids {
			equal(f, list[i+1], store.Wake{Partition: f.partition, Run: id, Time: 1000})
		}
		equal(f, f.due(1000, 5000, 3), []store.Wake{{Partition: f.partition, Run: late.ID, Time: 1001}})
	}},
	{"Due/SeveralPartitions", func(f *fixture) {
		there := f.elsewhere()
		add := func(partition int, wake int64) store.Wake {
			return store.Wake{Partition: partition, Run: f.started(in(partition), waking(wake)).ID, Time: wake}
		}
		add(there, 10)
		a, b, c := add(f.partition, 20), add(there, 30), add(f.partition, 40)
		d, e := add(there, 50), add(f.partition, 50)
		g, _ := add(there, 50), add(f.partition, 60)
		due := func(limit int, partitions ...int) []store.Wake {
			list := must(f.store.Due(f.Context(), partitions, 10, 55, limit))(f)
			slices.SortStableFunc(list, func(a, b store.Wake) int { // those of one time are in any order
				return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Run, b.Run))
			})
			return list
		}
		equal(f, due(0, f.partition, there), []store.Wake{a, b, c, d, e, g})
		equal(f, due(0, there, f.partition, there), []store.Wake{a, b, c, d, e, g})
		equal(f, due(2, f.partition, there), []store.Wake{a, b})
		equal(f, due(3, f.partition, there), []store.Wake{a, b, c})
		equal(f, due(4, f.partition, there), []store.Wake{a, b, c, d, e, g})
		equal(f, due(5, f.partition, there), []store.Wake{a, b, c, d, e, g})
		equal(f, due(2, there), []store.Wake{b, d, g})
		equal(f, due(0, there, f.partition+1000), []store.Wake{b, d, g})
		equal(f, due(0), nil)
	}},
}

// begins takes a run out of the line, which it leaves with its state.
func (f *fixture) begins(run string) {
	f.Helper()
	f.commits(f.turn(store.Run{ID: run}, 0, stating(store.RunState{Status: store.Running, Wake: store.Hot})))
}
