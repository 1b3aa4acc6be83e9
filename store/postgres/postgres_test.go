package postgres

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/storetest"
)

var schemas atomic.Int64

// database is where tests that need no database of their own have a schema.
func fresh(t testing.TB) (dsn string, schema Option) {
	t.Helper()
	return pgtest.Shared(t).DSN("postgres"), Schema(fmt.Sprintf("schema_%d", schemas.Add(1)))
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Opener {
		dsn, schema := fresh(t)
		return URL(dsn, schema, Partitions(3))
	})
}
