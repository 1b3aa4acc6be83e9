package clustertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/store/postgres"
)

// TestE83_E135_AnyServer runs the load of these tests on a server that somebody else runs
// ($PERDURE_TEST_URL, without the schema perdure), kills a node and hurts the server by a command
// ($PERDURE_TEST_TROUBLE), as often as -times says. If it is the coordinator of a Citus
// cluster, the database is distributed; the command may kill a worker and start it again.
func TestE83_E135_AnyServer(t *testing.T) {
	c := onAnyServer(t)
	nodes := c.two()
	load := c.loaded(time.Duration(*times)*2*time.Minute + patience)
	for range *times {
		c.awaitProgress(load, 20)
		nodes[1].Kill()
		nodes[1] = c.start("b", torture.Setup{Name: "b"})
		c.setCrew(nodes...)
		c.awaitProgress(load, 20)
		if os.Getenv(envTrouble) != "" {
			t.Logf("for %s no run ended", c.gap(load, func() {
				hurt(t)
				c.awaitProgress(load, 20)
			}))
		}
		c.awaitProgress(load, 20)
	}
	c.conclude(load, nodes)
}

// TestE117_E148_AnyServer: runs move between nodes of two builds on that server, too, while
// nodes are killed and the server is hurt.
func TestE117_E148_AnyServer(t *testing.T) {
	for round := range *times {
		for _, which := range []string{"away", "home", "server"} {
			t.Run(fmt.Sprint(round, which), func(t *testing.T) { killOnTheWay(onAnyServer(t), which, func() { hurt(t) }) })
		}
	}
}

// TestE144_AWorkerOfCitusIsKilled: on a cluster of Citus of its own runs move between nodes of
// two builds while one of the workers is killed and comes back. TestE117_E148_AnyServer is more
// of that.
func TestE144_AWorkerOfCitusIsKilled(t *testing.T) {
	all := pgtest.Citus(t, 2)
	url, worker := all[0].DSN("postgres"), all[1]
	distribute(t, url)
	killOnTheWay(newClusterAt(t, all[0], url), "server", func() {
		worker.Crash(t)
		time.Sleep(lease / 2)
		worker.Restart(t)
	})
}

// TestE118_E119_AnyServer: runs stay on their build there, too, and move when they are asked
// to, while nodes are killed and the server is hurt.
func TestE118_E119_AnyServer(t *testing.T) {
	for round := range *times {
		for _, which := range []string{"nodes", "server"} {
			t.Run(fmt.Sprint(round, which), func(t *testing.T) {
				trouble := func() {}
				if which == "server" {
					trouble = func() { hurt(t) }
				}
				killBuild(onAnyServer(t), trouble)
			})
		}
	}
}

// The variables of whoever lets these tests run.
const (
	envServer  = "PERDURE_TEST_URL"
	envTrouble = "PERDURE_TEST_TROUBLE"
)

// onAnyServer makes the schema perdure on the server of the user, distributed if that is a
// Citus cluster. It is removed if the test passes.
func onAnyServer(t *testing.T) *cluster {
	t.Helper()
	url := os.Getenv(envServer)
	if url == "" {
		t.Skip(envServer + " names no server.")
	}
	var used, citus bool
	onServer(t, url, func(conn *pgx.Conn) error {
		return conn.QueryRow(t.Context(), `SELECT to_regnamespace('perdure') IS NOT NULL, EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')`).Scan(&used, &citus)
	})
	if used {
		t.Fatal("the test needs a database without the schema perdure: DROP SCHEMA perdure CASCADE")
	}
	t.Cleanup(func() {
		if !t.Failed() {
			onServer(t, url, func(conn *pgx.Conn) error {
				_, err := conn.Exec(context.Background(), `DROP SCHEMA perdure CASCADE`)
				return err
			})
		}
	})
	if citus {
		distribute(t, url)
	}
	return newClusterAt(t, nil, url)
}

// onServer does something with a connection, when the server is there again.
func onServer(t *testing.T, url string, do func(conn *pgx.Conn) error) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	for end := time.Now().Add(patience); err != nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		conn, err = pgx.Connect(ctx, url)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := do(conn); err != nil {
		t.Fatal(err)
	}
}

// hurt runs the command of the user, if there is one.
func hurt(t *testing.T) {
	t.Helper()
	command := os.Getenv(envTrouble)
	if said, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", command).CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", command, err, said)
	}
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
