package clustertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
)

// TestE117_KillNineOnTheWay: nodes of two builds, and runs of the older one that are on their
// way to the other node, or have just come there, while the node to which they go, or their
// home, is killed with kill -9. All come to their end, and nothing is done twice that was
// not under way in the process that died.
func TestE117_KillNineOnTheWay(t *testing.T) {
	extent.OnlyAtNight(t, "TestE132 kills nodes of two builds, too")
	t.Parallel()
	for _, which := range []string{"away", "home"} {
		t.Run(which, func(t *testing.T) {
			for round := range 2 * *times {
				t.Run(fmt.Sprint(round), func(t *testing.T) { killOnTheWay(newCluster(t, pgtest.Shared(t)), which, nil) })
			}
		})
	}
}

// killOnTheWay kills the node of the older build, to which runs go ("away"), or that of the
// newer one, from which they come ("home"), or hurts the server.
func killOnTheWay(c *cluster, which string, trouble func()) {
	const runs = 40
	t := c.t
	older := c.start("old 1", torture.Setup{Build: "old", Queue: -1})
	ids, started := make([]string, runs), make([]string, runs)
	for i := range ids {
		ids[i] = fmt.Sprint("route ", i)
		run, err := older.Start("route", ids[i], i)
		if err != nil {
			t.Fatal(err)
		}
		started[i] = run
	}
	c.await("all wait for their ticket", func() bool {
		return c.book.Count(func(e witness.Entry) bool { return e.Phase == witness.Done && e.Step == "old first" }) == runs
	})
	newer := c.start("new 1", torture.Setup{Build: "new", Queue: -1})
	c.awaitShares(older, newer)
	// The tickets have the runs of the newer node's partitions loaded, which moves them.
	sent := make(chan error, 1)
	go func() {
		var err error
		for _, id := range ids {
			err = firstOf(err, witness.Patiently(t.Context(), func() error { return witness.Signal(t.Context(), c.client, id, 1) }))
		}
		sent <- err
	}()
	c.await("runs are on their way", func() bool {
		return len(c.query(`SELECT perdure.run_id(id) FROM perdure.runs WHERE ward <> 0 OR closed <> 0 LIMIT 1`)) > 0
	})
	time.Sleep(c.moment(100 * time.Millisecond))
	switch which {
	case "home":
		newer.Kill()
		newer = c.start("new 2", torture.Setup{Build: "new", Queue: -1})
	case "away":
		older.Kill()
		older = c.start("old 2", torture.Setup{Build: "old", Queue: -1})
	default:
		trouble()
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		got, err := perdure.Attach[int](c.client, id).Result(t.Context())
		if want := witness.Repeat(2, i); err != nil || got != want {
			t.Errorf("the result of %s is %d, %v, want %d", id, got, err, want)
		}
		if d, err := c.client.Workflow(id).Describe(t.Context()); err != nil || d.RunID != started[i] {
			t.Errorf("%s is the run %s, %v, not %s", id, d.RunID, err, started[i])
		}
	}
	c.judgeSteps(ids, []string{"old first", "old last"})
	c.awaitShares(older, newer)
	c.awaitHealth(older, newer)
	c.nothingOnTheWay()
}

// nothingOnTheWay looks for messages and runs that no node will touch again.
func (c *cluster) nothingOnTheWay() {
	c.t.Helper()
	c.await("the inbox is empty", func() bool { return len(c.query(`SELECT inbox::text FROM perdure.inbox`)) == 0 })
	if left := c.query(`SELECT runs::text FROM perdure.runs WHERE closed = 0 AND node_group = '' AND status <> '#standing' OR ward <> 0`); len(left) > 0 {
		c.t.Errorf("what is left: %v", left)
	}
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// judgeSteps holds the book against the ledger: each step was done by one attempt, and each
// earlier attempt of it is on record as lost.
func (c *cluster) judgeSteps(ids, steps []string) {
	c.t.Helper()
	done, begun := map[string]int{}, map[string][]string{}
	for _, e := range c.book.Entries() {
		of := e.Workflow + ", " + e.Step
		switch e.Phase {
		case witness.Begin:
			begun[of] = append(begun[of], e.Attempt)
		case witness.Done:
			done[of]++
		}
	}
	for _, id := range ids {
		attempts, err := c.client.Workflow(id).Attempts(c.t.Context())
		if err != nil {
			c.t.Fatal(err)
		}
		for _, step := range steps {
			of := id + ", " + step
			began := begun[of]
			slices.Sort(began)
			if n := len(slices.Compact(began)); n != len(begun[of]) {
				c.t.Errorf("%s: an attempt began twice: %v", of, began)
			}
			lost := 0
			for _, a := range attempts {
				if slices.Contains(began, a.ID) && a.Outcome == "lost" {
					lost++
				}
			}
			if len(began)-lost != 1 || done[of] < 1 || done[of] > 1+lost {
				c.t.Errorf("%s was done %d times in %d attempts, of which %d are lost", of, done[of], len(began), lost)
			}
		}
	}
}
