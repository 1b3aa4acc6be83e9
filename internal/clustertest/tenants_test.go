package clustertest

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/gate"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/workflow"
)

var (
	crowd    = flag.Int("crowd", extent.AtNight(1500, 100_000), "how many bodies of A TestT6 has before those of B")
	bodyTime = flag.Duration("body", extent.AtNight(20*time.Millisecond, time.Second), "how long each of them takes")
)

// TestT6_NobodyWaitsOverAllNodes: on one node with a file and on four with PostgreSQL, few of thousands
// of bodies of A begin between the start of a run of B and its body. It tells how long B takes beside
// them, and alone.
func TestT6_NobodyWaitsOverAllNodes(t *testing.T) {
	extent.NotInShort(t, "a server")
	for name, c := range map[string]struct {
		nodes int
		db    func(t *testing.T) store.Opener
	}{
		"file": {1, func(t *testing.T) store.Opener { return sqlite.File(t.TempDir() + "/t.db") }},
		"four": {4, func(t *testing.T) store.Opener { return postgres.URL(pgtest.Database(t)) }},
	} {
		for _, at := range []string{"line", "slots", "gate", "queue"} {
			t.Run(name+"/"+at, func(t *testing.T) { behindMany(t, c.db(t), c.nodes, at) })
		}
	}
}

// TestT3_NoKeyExceedsItsLimitOverTwoNodes: two processes share a gate that lets two bodies pass at a
// time, and of each run key one. By the book, which knows nothing of gates, no more ever were behind
// it, also when a process is killed and another one takes its place (package witness, narrow.go).
func TestT3_NoKeyExceedsItsLimitOverTwoNodes(t *testing.T) {
	extent.NotInShort(t, "a server")
	t.Parallel()
	c := newCluster(t, pgtest.Shared(t))
	nodes := c.two()
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	load := c.newLoad()
	load.Only, load.More = []string{"crowd"}, map[string]witness.Job{"crowd": witness.Crowding}
	load.Begin(ctx)
	for range 3 * *times {
		c.awaitProgress(load, 20)
		nodes[1].Kill()
		nodes[1] = c.start("b", torture.Setup{Name: "b"})
		c.setCrew(nodes...)
	}
	c.awaitProgress(load, 20)
	end := load.End()
	c.awaitShares(nodes...)
	c.awaitHealth(nodes...)
	c.verdict(end)

	// What the verdict is worth: bodies of all keys passed in both processes, and those of two keys
	// together.
	passed, inside, together := map[string]bool{}, map[string]string{}, false
	for _, e := range end.Entries {
		if e.Phase != witness.Begin {
			delete(inside, e.Attempt)
			continue
		}
		key := witness.KeyOf(e.Workflow)
		passed[e.Process+" "+key] = true
		for _, other := range inside {
			together = together || other != key
		}
		inside[e.Attempt] = key
	}
	if len(passed) < 6 || !together {
		t.Errorf("there passed %v, two keys together: %v", passed, together)
	}
}

func behindMany(t *testing.T, db store.Opener, nodes int, at string) {
	ctx := t.Context()
	var options []activity.Option
	switch at {
	case "gate":
		options = append(options, activity.Through(gate.New("two", 2)))
	case "queue":
		options = append(options, activity.Queue("mill"))
	}
	var begun, beforeB atomic.Int64
	body := activity.New("body", func(ctx context.Context, who string) (int, error) {
		begun.Add(1)
		if who == "b" {
			beforeB.Store(begun.Load())
		}
		select {
		case <-time.After(*bodyTime):
		case <-ctx.Done():
		}
		return 0, nil
	})
	wide := 1 // calls of a run of A
	if at == "slots" {
		wide = 100
	}
	job := workflow.New("job", func(wf *workflow.Context, who string) (int, error) {
		n := 1
		if who == "a" {
			n = wide
		}
		var calls []workflow.Future[int]
		for range n {
			calls = append(calls, workflow.Async(wf, body, who, options...))
		}
		for _, call := range calls {
			if _, err := call.Get(wf); err != nil {
				return 0, err
			}
		}
		return 0, nil
	})
	var engines []*perdure.Engine
	for i := range nodes {
		eng, err := perdure.Open(ctx, db, perdure.Register(job, body), perdure.Concurrency(4), perdure.ServeQueue("mill", 2),
			perdure.NodeName(fmt.Sprint("node-", i)), perdure.Logger(slog.New(slog.DiscardHandler)))
		fatal(t, err)
		fatal(t, eng.Start(ctx))
		defer eng.Close()
		engines = append(engines, eng)
	}
	// b runs B a few times, and returns how long it took at most and on average, and how many bodies
	// of A began before its body at least.
	b := func(name string) (worst, mean time.Duration, fewest int64) {
		const runs = 5
		fewest = int64(*crowd)
		for try := range runs {
			asked, start := begun.Load(), time.Now()
			_, err := perdure.Run(ctx, engines[nodes-1], job, fmt.Sprint(name, try), "b", workflow.Key("b"))
			fatal(t, err)
			took := time.Since(start)
			worst, mean = max(worst, took), mean+took/runs
			fewest = min(fewest, beforeB.Load()-asked)
		}
		return worst, mean, fewest
	}
	worstAlone, alone, _ := b("alone")
	var starts sync.WaitGroup
	for c := range 8 {
		starts.Go(func() {
			for i := c; i < *crowd/wide; i += 8 {
				if _, err := perdure.Start(ctx, engines[c%nodes], job, fmt.Sprint("a", i), "a", workflow.Key("a")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starts.Wait()
	// What counts is turns, not time: while the commits of b are slow, slots are not idle. Were b
	// behind a, it would be each time.
	had := begun.Load()
	worst, beside, fewest := b("beside")
	t.Logf("b takes %s alone (%s at most) and %s (%s at most) beside %d bodies of a, of which %d had begun: %.2f times as long (%.2f at most); %d of them began before it at least",
		alone, worstAlone, beside, worst, *crowd, had, float64(beside)/float64(alone), float64(worst)/float64(alone), fewest)
	if fewest > int64(*crowd)/10 {
		t.Errorf("%d bodies of a began before that of b", fewest)
	}
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
