package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/store/storetest"
)

func TestContract(t *testing.T) {
	for name, options := range map[string][]sqlite.Option{
		"Shared":    nil,
		"Exclusive": {sqlite.Exclusive()},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Opener {
				return sqlite.File(filepath.Join(t.TempDir(), "test.db"), options...)
			})
		})
	}
}
