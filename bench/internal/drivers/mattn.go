//go:build cgo

package drivers

import (
	"context"

	_ "github.com/mattn/go-sqlite3" // driver "sqlite3"

	"github.com/perdure/perdure/bench/internal/floor"
	"github.com/perdure/perdure/bench/internal/system"
)

// withC is the driver that compiles SQLite with a C compiler.
func withC() []system.System {
	return []system.System{floor.With("mattn", func(ctx context.Context, path string) (floor.Table, error) {
		return floor.OpenSQL(ctx, "sqlite3", path)
	})}
}
