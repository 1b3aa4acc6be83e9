package postgres

import (
	"context"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// What a hook changes of its session would hold for whoever gets the connection next: another
// role that may not read our tables, a lock that nobody releases. So its statements are looked
// at, and a connection that is not as it was is closed. A setting that is local to the
// transaction ends with it, but for the role, which our own statements behind the hook need back.

var (
	// ofSession begins a statement that changes the session. SET is looked at further.
	ofSession = regexp.MustCompile(`(?i)(?:^|;)\s*(?:(RESET|DISCARD|LISTEN|PREPARE|LOAD)\b|SET\s+(\w+))`)
	inSession = regexp.MustCompile(`(?i)\bpg_(?:try_)?advisory_lock|\bWITH\s+HOLD\b|\bCREATE\s+(?:LOCAL\s+|GLOBAL\s+)?TEMP|\bset_config\s*\([^)]*\bfalse\b`)
	ofRole    = regexp.MustCompile(`(?i)\b(?:ROLE|AUTHORIZATION)\b|'role'`)
)

// aftermath is what a hook did to the session of its transaction.
type aftermath struct {
	changed bool // beyond the transaction
	role    bool
}

// hear looks at a statement.
func (s *aftermath) hear(sql string) {
	set := false
	for _, m := range ofSession.FindAllStringSubmatch(sql, -1) {
		set = true
		switch strings.ToUpper(m[2]) {
		case "LOCAL", "TRANSACTION", "CONSTRAINTS":
		default:
			s.changed = true
		}
	}
	s.changed = s.changed || inSession.MatchString(sql)
	s.role = s.role || (set || strings.Contains(strings.ToLower(sql), "set_config")) && ofRole.MatchString(sql)
}

// left returns what the hook has done so far: an abandoned one may still continue.
func (t *lentTx) left() aftermath {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.session
}

func (t *lentTx) hear(sql string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.session.hear(sql)
}

// Exec is that of pgx.Tx.
func (t *lentTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	t.hear(sql)
	return t.Tx.Exec(ctx, sql, args...)
}

// Query is that of pgx.Tx.
func (t *lentTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	t.hear(sql)
	return t.Tx.Query(ctx, sql, args...)
}

// QueryRow is that of pgx.Tx.
func (t *lentTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	t.hear(sql)
	return t.Tx.QueryRow(ctx, sql, args...)
}

// SendBatch is that of pgx.Tx.
func (t *lentTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	for _, q := range b.QueuedQueries {
		t.hear(q.SQL)
	}
	return t.Tx.SendBatch(ctx, b)
}
