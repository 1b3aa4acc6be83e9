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

// freshSchema names a schema that no other test uses: where a test needs no
// database of its own, that is quicker.
func freshSchema() string { return fmt.Sprintf("schema_%d", schemas.Add(1)) }

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Opener {
		return URL(pgtest.Shared(t).DSN("postgres"), Schema(freshSchema()), Partitions(3))
	})
}
