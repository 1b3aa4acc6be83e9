//go:build !race || databases

package engine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/pgbubble"
	"github.com/perdure/perdure/internal/sqlitetest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
)

func files(t *testing.T, partitions int) maker {
	if partitions != 1 {
		t.Fatalf("an SQLite file has one partition, not %d", partitions)
	}
	dir, n := t.TempDir(), 0
	return func(clock func() int64) store.Opener {
		n++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", n))
		sqlitetest.File(t, path)
		return sqlite.File(path, sqlite.Exclusive(), sqlite.Durability(sqlite.Normal), sqlite.Clock(clock))
	}
}

func schemas(t *testing.T, partitions int) maker {
	schema := pgbubble.Borrow(t, partitions)
	return func(clock func() int64) store.Opener { return schema.Empty(clock) }
}

// sharedFiles are SQLite files that two processes may open.
func sharedFiles(t *testing.T, _ int) maker {
	dir, n := t.TempDir(), 0
	return func(clock func() int64) store.Opener {
		n++
		return sqlite.File(filepath.Join(dir, fmt.Sprintf("%d.db", n)), sqlite.Durability(sqlite.Normal), sqlite.Clock(clock))
	}
}

func addEffectOnPostgres(ctx context.Context, tx any, run, what string) error {
	return pgbubble.AddEffect(ctx, tx.(pgbubble.Tx), run, what)
}

func effectsOnPostgres(ctx context.Context, tx any, run string) ([]string, error) {
	return pgbubble.Effects(ctx, tx.(pgbubble.Tx), run)
}
