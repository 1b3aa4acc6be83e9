package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// tick is the unit of CPU times in /proc, which Linux fixes for all programs.
const tick = 10 * time.Millisecond

// CPU is the CPU time that all processes of the server have used: that of those
// alive, and of those the server has seen end.
func (c *Cluster) CPU() (time.Duration, error) {
	server := c.server.PID()
	s, err := readStat(server)
	if err != nil {
		return 0, err
	}
	sum := s.own + s.ended
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			continue
		}
		// One that ended since the list was made counts from the next time on.
		if s, err := readStat(pid); err == nil && s.parent == server {
			sum += s.own
		}
	}
	return sum, nil
}

// stat is what interests us of a process.
type stat struct {
	parent     int
	own, ended time.Duration // CPU time of itself, and of children that have ended
}

func readStat(pid int) (stat, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// The name, the second field, may contain spaces; the last parenthesis ends it.
	text := string(raw)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return stat{}, fmt.Errorf("/proc/%d/stat is %q", pid, text)
	}
	var n [15]int64
	for i := 1; i < len(n); i++ { // field 0 is the state, a letter
		if n[i], err = strconv.ParseInt(fields[i], 10, 64); err != nil {
			return stat{}, err
		}
	}
	return stat{parent: int(n[1]), own: time.Duration(n[11]+n[12]) * tick, ended: time.Duration(n[13]+n[14]) * tick}, nil
}

// WAL is the number of bytes of write-ahead log since the cluster was made.
func (c *Cluster) WAL(ctx context.Context) (n int64, err error) {
	err = c.admin.QueryRow(ctx, `SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint`).Scan(&n)
	return n, err
}

// Commits is the number of transactions committed in a database, known for
// certain once all connections to it have ended.
func (c *Cluster) Commits(ctx context.Context, database string) (n int64, err error) {
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		var connected int
		if err := c.admin.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'`, database).Scan(&connected); err != nil {
			return 0, err
		}
		if connected == 0 {
			break
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("%d connections to %s did not end", connected, database)
		}
	}
	err = c.admin.QueryRow(ctx, `SELECT xact_commit FROM pg_stat_database WHERE datname = $1`, database).Scan(&n)
	return n, err
}

// Version is that of the server.
func (c *Cluster) Version(ctx context.Context) (v string, err error) {
	err = c.admin.QueryRow(ctx, `SHOW server_version`).Scan(&v)
	return v, err
}

// Table is a table with its indexes.
type Table struct {
	Name       string
	Bytes      int64
	Rows, Dead int64 // as the database estimates them; -1 if it does not
	Vacuums    int64 // automatic ones so far
}

// Tables describes the tables of a database, the largest first.
func (c *Cluster) Tables(ctx context.Context, database string) ([]Table, error) {
	conn, err := pgx.Connect(ctx, c.URL(database))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, `SELECT relname, pg_total_relation_size(relid), n_live_tup, n_dead_tup, autovacuum_count
		FROM pg_stat_user_tables ORDER BY 2 DESC`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Table])
}
