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
		rival := f.newRun()
		rival.WorkflowID = run.WorkflowID
		bystander := f.newRun()
		for range 2 {
			errs := f.commit(f.first(rival), f.first(bystander))
			f.conflict(errs[0], run)
			f.is(errs[1], nil)
		}
		f.none("", rival.ID)
		equal(f, len(f.history(rival.ID)), 0)
		// A closed run has its ID still.
		f.closes(run, 2, store.Completed)
		run.RunState = *closed(store.Completed)
		f.conflict(f.commit(f.first(rival))[0], run)
	}},
	{"Create/RivalsInOneBatch", func(f *fixture) {
		run, rival := f.newRun(), f.newRun()
		rival.WorkflowID = run.WorkflowID
		errs := f.commit(f.first(run), f.first(rival))
		f.is(errs[0], nil)
		f.conflict(errs[1], run)
	}},
	{"Create/RunIDOfAnotherWorkflowIsRefused", func(f *fixture) {
		run := f.created()
		impostor := f.newRun()
		impostor.ID = run.ID
		t := f.first(impostor)
		t.Number, t.CommitID = 2, 2
		f.malformed(f.commit(t)[0])
		f.malformed(f.store.Create(f.Context(), impostor))
		equal(f, f.find(run.ID), run)
	}},
	{"Create/FirstTurnOfARunThatAClientCreated", func(f *fixture) {
		run := f.newRun()
		f.must(f.store.Create(f.Context(), run))
		t := f.first(run)
		t.State = &store.RunState{Status: store.Running, Wake: 5}
		f.commits(t)
		equal(f, len(f.history(run.ID)), 1)
		equal(f, f.find(run.ID).Wake, 5)
	}},
	{"Create/WithoutAHistoryIsDurableOnceTheRunExists", func(f *fixture) {
		run := f.newRun()
		t := f.turn(run, 0)
		t.Create = &run
		t.Messages = []store.Message{{Partition: f.partition, WorkflowID: run.WorkflowID, Key: "begin"}}
		f.commits(t)
		eat := f.turn(run, 1)
		eat.Consumed = []int64{f.inbox()[0].Sequence}
		eat.State = closed(store.Completed)
		f.commits(eat)
		f.commits(t) // again, late
		equal(f, len(f.inbox()), 0)
		equal(f, f.find(run.ID).Status, store.Completed)
	}},
	{"Create/ChainGoesOnInTheTurnThatClosesItsPredecessor", func(f *fixture) {
		run := f.created()
		next := f.newRun()
		next.WorkflowID, next.Chain, next.Attempt = run.WorkflowID, run.ID, 2
		t := f.turn(run, 2)
		t.Create = &next
		f.conflict(f.commit(t)[0], run) // it is open still
		equal(f, len(f.history(run.ID)), 1)
		t.State = closed(store.Continued)
		f.commits(t)
		f.commits(t)
		equal(f, f.latest(run.WorkflowID), next)
		equal(f, f.find(run.ID).Status, store.Continued)
		f.commits(f.turn(next, 1))
		// The first of the chain is known for ever: creating it again is done.
		f.must(f.store.Create(f.Context(), run))
		equal(f, len(f.inbox()), 0)
		// And on, by a turn of its own after the end of the one before.
		end := f.turn(next, 2)
		end.State = closed(store.Failed)
		third := f.newRunOfChain(run)
		f.commits(end, f.first(third))
		equal(f, f.latest(run.WorkflowID), third)
	}},
	{"Create/AnotherChainDoesNotGoOn", func(f *fixture) {
		run := f.created()
		next := f.newRun()
		next.WorkflowID = run.WorkflowID
		t := f.turn(run, 2)
		t.State = closed(store.Completed)
		t.Create = &next
		var conflict *store.ConflictError
		if err := f.commit(t)[0]; !errors.As(err, &conflict) || conflict.Existing.ID != run.ID {
			f.Fatalf("got %v, want a ConflictError about %s", err, run.ID)
		}
		equal(f, f.find(run.ID), run)
	}},
	{"Create/SuccessorOfAnUnknownRunIsNotFound", func(f *fixture) {
		next := f.newRun()
		t := f.turn(f.newRun(), 1)
		t.Create = &next
		f.refuses(t, store.ErrNotFound)
		f.none("", next.ID)
	}},
	{"Due/WindowsHotAndNever", func(f *fixture) {
		wakes := map[string]int64{}
		add := func(wake int64) string {
			run := f.newRun()
			run.Wake = wake
			f.commits(f.first(run))
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
		t := f.turn(store.Run{ID: ten}, 0)
		t.State = &store.RunState{Status: store.Running, Wake: store.Never}
		u := f.turn(store.Run{ID: never}, 0)
		u.State = &store.RunState{Status: store.Running, Wake: 15}
		f.commits(t, u)
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
			run := f.newRun()
			run.Partition, run.Priority, run.Created, run.Wake = r.partition, r.priority, r.created, store.InLine(r.priority, r.created)
			f.must(f.store.Create(f.Context(), run))
			want = append(want, store.Wake{Partition: r.partition, Run: run.ID, Time: run.Wake})
		}
		want = []store.Wake{want[5], want[2], want[0], want[3], want[1], want[4]}
		line := func(limit int) []store.Wake {
			return must(f.store.Due(f.Context(), []int{f.partition, f.elsewhere()}, math.MinInt64, store.LastInLine, limit))(f)
		}
		equal(f, line(0), want)
		equal(f, line(4), want[:4])
		equal(f, f.due(-1, store.Never, 0), nil)
		begun := f.turn(store.Run{ID: want[0].Run}, 0) // a run leaves the line with its state
		begun.State = &store.RunState{Status: store.Running, Wake: store.Hot}
		f.commits(begun)
		equal(f, line(0), want[1:])
		equal(f, f.due(-1, 0, 0), []store.Wake{{Partition: f.partition, Run: want[0].Run}})
	}},
	{"Line/KeysTakeTurns", func(f *fixture) {
		there := f.elsewhere()
		var ids []string
		add := func(partition int, key string, weight, priority int) {
			run := f.newRun()
			run.Partition, run.Key, run.Weight, run.Priority, run.Created = partition, key, weight, priority, int64(1000+len(ids))
			run.Wake = run.WakeInLine()
			f.must(f.store.Create(f.Context(), run))
			ids = append(ids, run.ID)
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
		line := func(from string, limit int, partitions ...int) (at []int) {
			list := must(f.store.Line(f.Context(), store.LineRead{Partitions: partitions, From: from, Limit: limit}))(f)
			for _, r := range list {
				at = append(at, slices.Index(ids, r.Run))
			}
			return at
		}
		equal(f, line("", 3, f.partition), []int{5, 6, 7})
		equal(f, line("", 6, f.partition), []int{5, 6, 7, 9, 0, 8})
		equal(f, line("b", 4, f.partition), []int{6, 7, 9, 5})
		equal(f, line("bb", 2, f.partition), []int{9, 5})
		equal(f, line("", 4, f.partition, there), []int{5, 6, 10})
		equal(f, must(f.store.Line(f.Context(), store.LineRead{Partitions: []int{there}, Limit: 1}))(f), []store.LineRun{{Partition: there, Run: ids[10], Key: "z", Created: 1010}})
		equal(f, len(f.due(math.MinInt64, store.LastInLine, 0)), 1)
		begun := f.turn(store.Run{ID: ids[5]}, 0) // a run leaves the line with its state
		begun.State = &store.RunState{Status: store.Running, Wake: store.Hot}
		f.commits(begun)
		equal(f, line("", 3, f.partition), []int{0, 6, 7})
	}},
	{"Due/RunsOfOneWakeTimeAreNeverCut", func(f *fixture) {
		const n = 50
		var ids []string
		for range n {
			run := f.newRun()
			run.Wake = 1000
			f.commits(f.first(run))
			ids = append(ids, run.ID)
		}
		early, late := f.newRun(), f.newRun()
		early.Wake, late.Wake = 999, 1001
		f.commits(f.first(early), f.first(late))
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
			run := f.newRun()
			run.Partition, run.Wake = partition, wake
			f.must(f.store.Create(f.Context(), run))
			return store.Wake{Partition: partition, Run: run.ID, Time: wake}
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
