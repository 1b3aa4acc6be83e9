package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
)

// claimed makes a run with tasks of these numbers, which worker "w" claims.
func (w *world) claimed(numbers ...int64) (store.Run, []store.Task) {
	w.Helper()
	_, err := w.Attend(w.Context(), store.Worker{ID: "w", Name: "w", Lease: time.Hour, Serves: []byte(`{}`)})
	w.must(err)
	r := w.newRun()
	t := w.first(r)
	for _, n := range numbers {
		t.Offered = append(t.Offered, store.Task{TaskRef: store.TaskRef{Number: n, Attempt: 1}, WorkflowID: r.WorkflowID, Queue: "gpu", Name: "render", Data: []byte(`{}`)})
	}
	w.commits(t)
	tasks, err := w.ClaimTasks(w.Context(), store.TaskClaim{Worker: "w", Partitions: store.Group{Partitions: 4}, Queue: "gpu", Names: []string{"render"}, Turns: store.Turns{Limit: 99}})
	w.must(err)
	if len(tasks) != len(numbers) {
		w.Fatalf("%d of %d tasks were claimed", len(tasks), len(numbers))
	}
	return r, tasks
}

// TestSettlingOutlastsABriefLock: a row that a transaction of ours has locked for longer than
// the time of a lock, as on a server with too much to do, does not look like an outage.
func TestSettlingOutlastsABriefLock(t *testing.T) {
	w := newWorld(t)
	_, tasks := w.claimed(1)
	holder, err := pgx.Connect(t.Context(), pgtest.Shared(t).DSN("postgres"))
	w.must(err)
	defer holder.Close(context.Background())
	do := func(sql string) {
		t.Helper()
		_, err := holder.Exec(t.Context(), strings.ReplaceAll(sql, "perdure.", w.schema+"."))
		w.must(err)
	}
	do(`BEGIN`)
	do(`SELECT FROM perdure.tasks FOR UPDATE`)
	told := make(chan error, 1)
	go func() {
		m := store.Message{Partition: tasks[0].Partition, WorkflowID: tasks[0].WorkflowID, Run: tasks[0].Run, Kind: "attempt", Key: "end"}
		errs, err := w.SettleTasks(t.Context(), "w", []store.SettledTask{{TaskRef: tasks[0].TaskRef, Message: m}})
		if err == nil {
			err = errs[0]
		}
		told <- err
	}()
	for first := ""; ; { // until it waits in another transaction
		now := w.value(`SELECT coalesce(min(a.xact_start)::text, '') FROM pg_stat_activity a WHERE $1::int = ANY (pg_blocking_pids(a.pid))`, holder.PgConn().PID())
		if first == "" {
			first = now
		} else if now != "" && now != first {
			break
		}
		select {
		case err := <-told:
			t.Fatalf("it was given up: %v", err)
		default:
		}
	}
	do(`COMMIT`)
	w.must(<-told)
}

// TestTurnsLockTasksInTheOrderOfSettling: else two that concern the same tasks could wait for
// each other.
func TestTurnsLockTasksInTheOrderOfSettling(t *testing.T) {
	refs := func(numbers ...int64) (list []store.TaskRef) {
		for _, n := range numbers {
			list = append(list, store.TaskRef{Number: n, Attempt: 1})
		}
		return list
	}
	for name, c := range map[string]struct {
		turns []*store.Turn
		first string // the statement that locks tasks
		keys  string // partition/run/number
	}{
		"one statement": {
			[]*store.Turn{{Partition: 2, Run: "b", Over: refs(3, 1)}, {Partition: 2, Run: "a", Over: refs(2)}, {Partition: 1, Run: "c", Over: refs(9)}},
			"DELETE FROM perdure.tasks", "[1 2 2 2] [c a b b] [9 2 1 3]",
		},
		"several": {
			[]*store.Turn{{Partition: 2, Run: "b", Stopped: refs(3), Over: refs(1)}, {Partition: 1, Run: "c", GivenUp: refs(9)}, {Partition: 1, Run: "a", Withdrawn: refs(5)}},
			"SELECT FROM perdure.tasks", "[1 1 2 2] [a c b b] [5 9 1 3]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := batch{h: &handle{schema: "perdure"}}
			b.writeTasks(c.turns)
			q := b.QueuedQueries[0]
			if !strings.HasPrefix(q.SQL, c.first) {
				t.Fatalf("tasks are locked by %s", q.SQL)
			}
			if got := fmt.Sprint(q.Arguments[0], " ", q.Arguments[1], " ", q.Arguments[2]); got != c.keys {
				t.Errorf("the keys are %s", got)
			}
		})
	}
}
