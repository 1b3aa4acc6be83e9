package clustertest

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/store/postgres"
)

// TestE83_E135_AnyServer runs the load of these tests on a server that somebody else runs
// ($PERDURE_TEST_URL, an empty database), kills a node and hurts the server by a command
// ($PERDURE_TEST_TROUBLE), as often as -times says. If it is the coordinator of a Citus
// cluster, the database is distributed; the command may kill a worker and start it again.
func TestE83_E135_AnyServer(t *testing.T) {
	url, trouble := os.Getenv("PERDURE_TEST_URL"), os.Getenv("PERDURE_TEST_TROUBLE")
	if url == "" {
		t.Skip("PERDURE_TEST_URL names no server.")
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	var used, citus bool
	err = conn.QueryRow(t.Context(), `SELECT to_regnamespace('perdure') IS NOT NULL, EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')`).Scan(&used, &citus)
	conn.Close(context.Background())
	if err != nil || used {
		t.Fatalf("the test needs a database without the schema perdure: DROP SCHEMA perdure CASCADE (%v)", err)
	}
	if citus {
		distribute(t, url)
	}
	c := newClusterAt(t, nil, url)
	nodes := c.two()
	load := c.loaded(time.Duration(*times)*2*time.Minute + patience)
	for range *times {
		c.awaitProgress(load, 20)
		nodes[1].kill()
		nodes[1] = c.start("b", Setup{Name: "b"})
		c.setCrew(nodes...)
		c.awaitProgress(load, 20)
		if trouble != "" {
			t.Logf("for %s no run ended", c.gap(load, func() {
				if said, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", trouble).CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", trouble, err, said)
				}
				c.awaitProgress(load, 20)
			}))
		}
		c.awaitProgress(load, 20)
	}
	c.conclude(load, nodes)
}

// distribute makes a database that is distributed over the workers of a Citus cluster.
func distribute(t *testing.T, url string) {
	t.Helper()
	db, err := postgres.URL(url, postgres.Distributed(), postgres.Partitions(partitions)).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// gap is the longest time in which no run of a load ended while something was done.
func (c *cluster) gap(load *witness.Load, do func()) (longest time.Duration) {
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		last, since := load.Finished(), time.Now()
		for {
			if n := load.Finished(); n != last {
				last, since = n, time.Now()
			}
			longest = max(longest, time.Since(since))
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	do()
	close(done)
	<-watched
	return longest.Round(time.Millisecond)
}
