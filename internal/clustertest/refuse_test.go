package clustertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/internal/torture"
)

// faults makes the server itself refuse statements: some of those that write to a table,
// and some of those that end a transaction which did, with one error or another that a
// server may give to anybody at any time. Sequences count them, as they are not undone.
const faults = `
CREATE FUNCTION public.fault() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	codes text[] := ARRAY['40001', '40P01', '57014', '53100', '53200', '55P03'];
BEGIN
	IF random() < TG_ARGV[1]::float8 THEN
		PERFORM nextval('public.' || TG_ARGV[0]);
		RAISE EXCEPTION 'the test refuses this %', TG_ARGV[0] USING ERRCODE = codes[1 + floor(random() * 6)::integer];
	END IF;
	RETURN NULL;
END $$;
CREATE SEQUENCE public.statement;
CREATE SEQUENCE public.commit;
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['runs', 'turns', 'calls', 'attempts', 'inbox', 'nodes', 'partitions', 'owners', 'tallies'] LOOP
		EXECUTE format('CREATE TRIGGER fault AFTER INSERT OR UPDATE OR DELETE ON perdure.%I FOR EACH STATEMENT EXECUTE FUNCTION public.fault(''statement'', ''0.02'')', name);
		EXECUTE format('CREATE CONSTRAINT TRIGGER fault_at_commit AFTER INSERT OR UPDATE OR DELETE ON perdure.%I DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.fault(''commit'', ''0.02'')', name);
	END LOOP;
END $$`

// TestE83_ErrorsAtAnyStatementAndAtCommit: serialization failures, deadlocks, timeouts, a
// full disk, lack of memory and locks that cannot be had, as the server says them, in the
// middle of transactions and at their end. Default isolation is serializable besides.
func TestE83_ErrorsAtAnyStatementAndAtCommit(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Set("default_transaction_isolation", "serializable"))
	c, nodes, load := underLoad(t, server, 1+*times)
	c.command(faults)
	given := func(what string) string {
		return c.query(`SELECT (last_value - (NOT is_called)::integer)::text FROM public.` + what)[0]
	}
	c.await("enough is refused", func() bool {
		var statements, commits int
		fmt.Sscan(given("statement"), &statements)
		fmt.Sscan(given("commit"), &commits)
		return min(statements, commits) >= 20**times
	})
	c.awaitProgress(load, 20)
	c.command(`DROP FUNCTION public.fault() CASCADE`)
	c.conclude(load, nodes)
	t.Logf("%s statements and %s commits were refused", given("statement"), given("commit"))
}

// command runs statements as one transaction, again if those of the nodes and it waited for each
// other and it was chosen to give way, as migrations do.
func (c *cluster) command(sql string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.dsn)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close(ctx)
	for {
		_, err := conn.PgConn().Exec(ctx, sql).ReadAll()
		if refusal, is := errors.AsType[*pgconn.PgError](err); is && refusal.Code == "40P01" {
			if _, err := conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
				c.t.Fatal(err)
			}
			continue
		}
		if err != nil {
			c.t.Fatalf("%v\n%s", err, sql)
		}
		return
	}
}

// TestE83_NoConnectionIsLeft: others take all connections of the server, and the nodes
// lose theirs; they serve again when there are some.
func TestE83_NoConnectionIsLeft(t *testing.T) {
	extent.OnlyAtNight(t, "a server without room for a connection is one that is away, as in TestE132")
	t.Parallel()
	server := pgtest.Start(t, pgtest.Set("max_connections", "30"))
	c, nodes, load := underLoad(t, server, 1+*times)
	c.awaitProgress(load, 20)
	for range *times {
		keeper, err := pgx.Connect(t.Context(), c.dsn) // it ends sessions while the server has no room for another
		if err != nil {
			t.Fatal(err)
		}
		stop, taken := make(chan struct{}), make(chan []*pgx.Conn)
		go func() {
			var all []*pgx.Conn
			for {
				select {
				case <-stop:
					taken <- all
					return
				default:
				}
				if conn, err := pgx.Connect(t.Context(), c.dsn); err == nil {
					all = append(all, conn)
				}
			}
		}()
		c.hogged(t.Context(), keeper)
		time.Sleep(c.moment(3 * lease / 2))
		close(stop)
		all := <-taken
		if len(all) < 15 {
			t.Errorf("only %d connections could be taken", len(all))
		}
		for _, conn := range all {
			conn.Close(t.Context())
		}
		keeper.Close(t.Context())
		c.awaitProgress(load, 20)
	}
	c.conclude(load, nodes)
}

// hogged ends the sessions of nodes until none has one: others took their places.
func (c *cluster) hogged(ctx context.Context, keeper *pgx.Conn) {
	c.t.Helper()
	c.await("no node has a connection", func() bool {
		left, others := 0, 0
		if _, err := keeper.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'perdure'`); err != nil {
			c.t.Fatal(err)
		}
		err := keeper.QueryRow(ctx, `SELECT count(*) FILTER (WHERE application_name = 'perdure'), count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'`).Scan(&left, &others)
		if err != nil {
			c.t.Fatal(err)
		}
		return left == 0 && others >= 30
	})
}

// TestE83_TheServersClockJumps forth and back, by ten minutes, as that of another server
// may after a failover. What is due comes at once, leases run out and are taken again;
// nothing is lost or doubled.
func TestE83_TheServersClockJumps(t *testing.T) {
	t.Parallel()
	c, nodes, load := underLoad(t, pgtest.Shared(t), 1+*times)
	for range *times {
		for _, ahead := range []string{"10 minutes", "0", "3 minutes", "-5 seconds", "0"} {
			c.awaitProgress(load, 10)
			time.Sleep(c.moment(lease / 2))
			c.command(`CREATE OR REPLACE FUNCTION perdure.now() RETURNS bigint LANGUAGE sql VOLATILE AS
				$$ SELECT (extract(epoch FROM clock_timestamp() + interval '` + ahead + `') * 1000000000)::bigint $$`)
		}
	}
	c.awaitProgress(load, 10)
	end := load.End()
	end.Server = true
	c.awaitShares(nodes...)
	c.awaitHealth(nodes...)
	c.verdict(end)
}

// TestE83_AMigrationWhileNodesServe: a later version adds to the schema under the work of
// two nodes, as perdure migrate does. They continue; one of them that is started again is
// refused in words, and the other serves all.
func TestE83_AMigrationWhileNodesServe(t *testing.T) {
	t.Parallel()
	c, nodes, load := underLoad(t, pgtest.Shared(t), 1+*times)
	a, b := nodes[0], nodes[1]
	c.awaitProgress(load, 20)
	var next strings.Builder
	for _, table := range []string{"runs", "turns", "calls", "attempts", "inbox", "nodes", "partitions", "switches", "tallies"} {
		fmt.Fprintf(&next, "ALTER TABLE perdure.%s ADD COLUMN later bigint NOT NULL DEFAULT 7; CREATE INDEX ON perdure.%[1]s (later);\n", table)
	}
	c.command(`BEGIN; LOCK TABLE perdure.meta IN ACCESS EXCLUSIVE MODE; ` + next.String() + `CREATE TABLE perdure.later (partition bigint);
		UPDATE perdure.meta SET value = (value::integer + 1)::text WHERE key = 'version'; COMMIT`)
	c.awaitProgress(load, 20)
	if err := b.Leave(patience); err != nil {
		t.Error(err)
	}
	c.setCrew(a)
	again, opened := c.begin("b again", torture.Setup{Name: "b"})
	if err := <-opened; err == nil || !strings.Contains(err.Error(), "newer than this program") || !strings.Contains(err.Error(), "use a later program") {
		t.Errorf("a node of the earlier version was started again: %v", err)
	}
	again.Kill()
	c.awaitOwner(a)
	c.awaitProgress(load, 20)
	end := load.End()
	c.awaitHealth(a)
	c.verdict(end)
}
