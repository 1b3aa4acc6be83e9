package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// bounds are the thresholds of Examine.
type bounds struct {
	slack    time.Duration // more than clocks may differ
	stuck    time.Duration // that a message waits for a live owner
	long     time.Duration // that a transaction lasts
	blocked  time.Duration // that a session waits for a lock, or the transaction is open that has it
	dead     int           // rows of a table that has fewer live ones
	occupied float64       // share of the server's connections
}

var usual = bounds{slack: 5 * time.Second, stuck: 10 * time.Minute, long: 5 * time.Minute, blocked: 5 * time.Second, dead: 100_000, occupied: 0.9}

const (
	leastLimit = 5 * time.Second // minimum time for a statement
	leastConns = reserved + 2    // connections of a pool: for ownership, for writing and for reading
)

// examination is one examination of a database and its server. After an error it looks no further.
type examination struct {
	c     *conn
	ctx   context.Context
	than  bounds
	found []store.Symptom
	err   error
}

func (x *examination) find(kind, subject, problem, do string) {
	x.found = append(x.found, store.Symptom{Kind: kind, Subject: subject, Problem: problem, Do: do})
}

// rows calls each for every row of a statement with text columns.
func (x *examination) rows(sql string, args []any, each func(column []string)) {
	if x.err != nil {
		return
	}
	x.err = x.c.query(x.ctx, sql, args, func(r pgx.Rows) error {
		values := make([]string, len(r.FieldDescriptions()))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		if err := r.Scan(into...); err != nil {
			return err
		}
		each(values)
		return nil
	})
}

// Examine finds problems that the store contract does not show.
func (h *handle) Examine(ctx context.Context) ([]store.Symptom, error) {
	return h.examine(ctx, usual)
}

func (h *handle) examine(ctx context.Context, than bounds) ([]store.Symptom, error) {
	return shared(ctx, h, "Examine", func(c *conn) ([]store.Symptom, error) {
		x := &examination{c: c, ctx: ctx, than: than}
		x.clocks()
		x.pool()
		x.limits()
		x.vacuum()
		x.sessions()
		x.orphans()
		x.stuck()
		return x.found, x.err
	})
}

// clocks compares the server's clock with that of this machine and with its own earlier
// values.
func (x *examination) clocks() {
	var now, mark int64
	before := time.Now()
	if _, x.err = x.c.one(x.ctx, `SELECT perdure.now(), (SELECT coalesce(max(clock), 0) FROM perdure.partitions)`, nil, &now, &mark); x.err != nil {
		return
	}
	after := time.Now()
	ahead := time.Duration(max(0, now-after.UnixNano()) - max(0, before.UnixNano()-now)).Round(time.Second)
	if ahead.Abs() > x.than.slack {
		side := "ahead of"
		if ahead < 0 {
			side = "behind"
		}
		x.find(store.SymptomClock, "clock", fmt.Sprintf("the server's clock is %s %s that of this machine; engines go by the server's, so times given by people on this machine are off by that", ahead.Abs(), side),
			"set both by NTP: timedatectl set-ntp true")
	}
	if back := time.Duration(mark - now).Round(time.Second); back > x.than.slack {
		x.find(store.SymptomClock, "clock", fmt.Sprintf("the server's clock was set back: it is %s behind what it was before; waits last that much longer", back),
			"set it by NTP: timedatectl set-ntp true")
	}
}

// pool checks whether there are enough connections.
func (x *examination) pool() {
	if n := int(x.c.h.pool.Config().MaxConns); n < leastConns {
		x.find(store.SymptomPool, "pool", fmt.Sprintf("the pool of this process has %d connections, and %d are kept for leases: reading keeps commits waiting", n, min(n-1, reserved)),
			fmt.Sprintf("add pool_max_conns=8 to the URL; %d is the least that makes sense", leastConns))
	}
	x.rows(`SELECT used::text, limit_::text, most FROM (SELECT count(*) AS used,
			current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer AS limit_,
			(SELECT string_agg(who || ' ' || n, ', ') FROM (SELECT coalesce(nullif(application_name, ''), 'without a name') AS who, count(*) AS n
				FROM pg_stat_activity WHERE backend_type = 'client backend' GROUP BY 1 ORDER BY 2 DESC LIMIT 3) m) AS most
		FROM pg_stat_activity WHERE backend_type = 'client backend') x WHERE used >= limit_ * $1::float8`, []any{x.than.occupied}, func(v []string) {
		x.find(store.SymptomPool, "connections", fmt.Sprintf("%s of the server's %s connections are in use (most by %s); an engine that loses one may not get another, and then its lease runs out", v[0], v[1], v[2]),
			"lower pool_max_conns in the URLs, put a pooler in between (postgres.Pooled), or raise max_connections")
	})
}

// limits finds time limits that are too short for a commit.
func (x *examination) limits() {
	x.rows(`SELECT name, setting, source FROM pg_settings WHERE
		CASE WHEN name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout') THEN setting::bigint > 0 AND setting::bigint < $1 ELSE false END`, []any{leastLimit.Milliseconds()}, func(v []string) {
		x.find(store.SymptomTimeout, v[0], fmt.Sprintf("%s is %s ms (set by: %s): a commit of many turns, or a takeover, may need longer, and is tried again and again", v[0], v[1], v[2]),
			fmt.Sprintf("ALTER ROLE %s SET %s = 0, or at least %s; then restart the engines", pgx.Identifier{x.c.raw.Config().User}.Sanitize(), v[0], leastLimit))
	})
}

// vacuum finds dead rows that pile up.
func (x *examination) vacuum() {
	x.rows(`SELECT relname, n_dead_tup::text, n_live_tup::text, coalesce(to_char(greatest(last_vacuum, last_autovacuum) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SSZ'), 'never')
		FROM pg_stat_user_tables WHERE schemaname = $1 AND n_dead_tup > $2 AND n_dead_tup > n_live_tup`, []any{x.c.h.schema, x.than.dead}, func(v []string) {
		table := pgx.Identifier{x.c.h.schema, v[0]}.Sanitize()
		x.find(store.SymptomVacuum, "table "+v[0], fmt.Sprintf("it has %s dead rows beside %s live ones (last vacuumed: %s); reading it takes longer and longer", v[1], v[2], v[3]),
			"VACUUM (ANALYZE) "+table+"; if that removes nothing, a long transaction keeps them alive")
	})
	x.rows(`SELECT setting FROM pg_settings WHERE name = 'autovacuum' AND setting = 'off'`, nil, func([]string) {
		x.find(store.SymptomVacuum, "autovacuum", "autovacuum is off: dead rows pile up, and at last the server stops to protect its transaction numbers", "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf()")
	})
}

// sessions finds transactions that block others.
func (x *examination) sessions() {
	x.rows(`SELECT pid::text, coalesce(nullif(application_name, ''), 'without a name'), coalesce(usename, ''), coalesce(state, ''),
			to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SSZ'), date_trunc('second', clock_timestamp() - xact_start)::text
		FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
		AND xact_start < clock_timestamp() - interval '1 millisecond' * $1 ORDER BY xact_start LIMIT 10`, []any{x.than.long.Milliseconds()}, func(v []string) {
		x.find(store.SymptomBlocking, fmt.Sprintf("session %s (%s, user %s)", v[0], v[1], v[2]), fmt.Sprintf("its transaction is open since %s (%s) and %s: no row that died since then can be removed, and what it locked stays locked", v[4], v[5], v[3]),
			fmt.Sprintf("end it: SELECT pg_terminate_backend(%s); idle_in_transaction_session_timeout ends such by itself", v[0]))
	})
	// Statements of engines give up before they have waited for long, and come again: who makes
	// them wait is told by how long that transaction is open.
	x.rows(`SELECT b.pid::text, coalesce(nullif(b.application_name, ''), 'without a name'), coalesce(b.usename, ''), count(*)::text, date_trunc('second', max(clock_timestamp() - w.query_start))::text, min(w.query),
			date_trunc('second', clock_timestamp() - min(b.xact_start))::text
		FROM pg_stat_activity w CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS blocker JOIN pg_stat_activity b ON b.pid = blocker
		WHERE w.datname = current_database() AND w.wait_event_type = 'Lock' AND least(w.query_start, b.xact_start) < clock_timestamp() - interval '1 millisecond' * $1
		GROUP BY 1, 2, 3 ORDER BY 1 LIMIT 10`, []any{x.than.blocked.Milliseconds()}, func(v []string) {
		x.find(store.SymptomBlocking, fmt.Sprintf("session %s (%s, user %s)", v[0], v[1], v[2]), fmt.Sprintf("its transaction is open for %s, and %s sessions wait for its locks, one for %s: %s", v[6], v[3], v[4], clip(v[5])),
			fmt.Sprintf("see what it does: SELECT * FROM pg_stat_activity WHERE pid = %s; end it: SELECT pg_terminate_backend(%[1]s)", v[0]))
	})
	x.rows(`SELECT gid, to_char(prepared AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SSZ') FROM pg_prepared_xacts
		WHERE database = current_database() AND prepared < clock_timestamp() - interval '1 millisecond' * $1`, []any{x.than.long.Milliseconds()}, func(v []string) {
		x.find(store.SymptomBlocking, "prepared transaction "+v[0], "it is neither committed nor rolled back since "+v[1]+": what it locked stays locked, and no row that died since then can be removed",
			"COMMIT PREPARED or ROLLBACK PREPARED '"+strings.ReplaceAll(v[0], "'", "''")+"'")
	})
}

// orphans finds rows of runs that do not exist. No statement of the store creates any.
func (x *examination) orphans() {
	for _, table := range []string{"turns", "calls", "attempts", "attributes"} {
		x.rows(`SELECT count(*)::text, min(perdure.run_id(run)) FROM perdure.`+table+` t
			WHERE NOT EXISTS (SELECT FROM perdure.runs r WHERE r.partition = t.partition AND r.id = t.run) HAVING count(*) > 0`, nil, func(v []string) {
			x.find(store.SymptomOrphan, "table "+table, fmt.Sprintf("%s rows belong to runs that do not exist, such as %s: something else than perdure has deleted runs, or a restored backup is not of one moment", v[0], v[1]),
				fmt.Sprintf("restore a consistent backup; or delete them: DELETE FROM %s t WHERE NOT EXISTS (SELECT FROM %s r WHERE r.partition = t.partition AND r.id = t.run)",
					pgx.Identifier{x.c.h.schema, table}.Sanitize(), pgx.Identifier{x.c.h.schema, "runs"}.Sanitize()))
		})
	}
	x.rows(`SELECT count(*)::text, min(id)::text FROM perdure.partitions p WHERE node IS NOT NULL AND NOT EXISTS (SELECT FROM perdure.nodes n WHERE n.id = p.node) HAVING count(*) > 0`, nil, func(v []string) {
		x.find(store.SymptomOrphan, "table partitions", fmt.Sprintf("%s partitions have an owner that is no node, such as %s: the tables are not of one moment", v[0], v[1]), "restore a consistent backup")
	})
}

// stuck finds messages that have waited long although a live node owns their partition.
func (x *examination) stuck() {
	x.rows(`SELECT i.workflow_id, i.kind, i.sequence::text, to_char(to_timestamp(i.posted / 1e9) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SSZ'), n.name
		FROM perdure.inbox i JOIN perdure.partitions p ON p.id = i.partition JOIN perdure.nodes n ON n.id = p.node
		WHERE i.posted < perdure.now() - $1 AND n.departed IS NULL AND n.expires > perdure.now() AND n.joined < perdure.now() - $1
		ORDER BY i.posted LIMIT 20`, []any{x.than.stuck.Nanoseconds()}, func(v []string) {
		x.find(store.SymptomStuck, "message "+v[2], fmt.Sprintf("a message of the kind %q for %s waits since %s although node %s is alive: it cannot be read, or that node is very busy", v[1], v[0], v[3], v[4]),
			"look for it in the log of that node; a newer version may have written it: update the node. Restart it if it logs nothing")
	})
}

// clip shortens a statement to fit a line.
func clip(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 100 {
		text = strings.ToValidUTF8(text[:100], "") + "..."
	}
	return text
}
