package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/sqlitetest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/store/storetest"
	"pgregory.net/rapid"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Opener {
		path := filepath.Join(t.TempDir(), "test.db")
		sqlitetest.File(t, path)
		return sqlite.File(path)
	})
}

func TestClock(t *testing.T) {
	storetest.Clock(t, func(t *testing.T, clock func() int64) store.Opener {
		return sqlite.File(filepath.Join(t.TempDir(), "test.db"), sqlite.Clock(clock))
	})
}

func TestLockstepWithMemory(t *testing.T) {
	if testing.Short() {
		storetest.Checks(t, 15)
	}
	inMemory := func(_ *rapid.T, clock func() int64) store.Opener { return memory.New(memory.Clock(clock)) }
	onDisk := func(rt *rapid.T, clock func() int64) store.Opener {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		path := filepath.Join(dir, "test.db")
		sqlitetest.File(t, path)
		return sqlite.File(path, sqlite.Clock(clock), sqlite.Durability(sqlite.Normal), sqlite.Exclusive())
	}
	storetest.Lockstep(t, inMemory, onDisk)
}
