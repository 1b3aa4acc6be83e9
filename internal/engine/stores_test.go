package engine_test

import (
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/pgbubble"
	"github.com/perdure/perdure/internal/racedetector"
	"github.com/perdure/perdure/internal/sqlitetest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/sqlite"
)

// backend is a kind of database that the engine is tested on.
type backend struct {
	// prepare readies databases of so many partitions. It is called outside of
	// bubbles.
	prepare func(t *testing.T, partitions int) maker

	shared bool // several nodes may serve one database, and partitions may be several

	// slow says that the race detector has much to do here and finds nothing: it
	// makes SQLite, which is C translated to Go, eighteen times slower, and the
	// conversation with a server five times.
	slow bool
}

// maker makes an empty database with this clock, in a bubble or outside of any,
// when the one that it made before is closed.
type maker func(clock func() int64) store.Opener

var (
	inMemory   = backend{prepare: memories, shared: true}
	onSQLite   = backend{prepare: files, slow: true}
	onPostgres = backend{prepare: schemas, shared: true, slow: true}
)

// setting is a kind of database, and whether runs are kept in memory between
// their turns or dropped after each, so that every turn is a replay.
type setting struct {
	name string
	backend
	resident bool
	sampled  bool // of the crash points, only some are tried here
}

// settings are where the tests of this package run.
var settings = []setting{
	{name: "memory-evicted", backend: inMemory},
	{name: "memory-resident", backend: inMemory, resident: true},
	{name: "sqlite-evicted", backend: onSQLite},
	{name: "sqlite-resident", backend: onSQLite, resident: true, sampled: true},
	{name: "postgres-evicted", backend: onPostgres},
	{name: "postgres-resident", backend: onPostgres, resident: true, sampled: true},
}

// skipIfShort leaves the databases out of the short form of the tests.
func (in setting) skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() && in.slow {
		t.Skip("-short runs this in memory only.")
	}
}

// skipIfSlow leaves a case out that takes too long here. All cases run without the
// race detector and without -short.
func (in setting) skipIfSlow(t *testing.T) {
	t.Helper()
	in.skipIfShort(t)
	if racedetector.Enabled && !in.worthARace() {
		t.Skip("Here this runs without the race detector only.")
	}
}

// worthARace says that the race detector may find something here in its time: the
// engine is the same on all databases, and runs that are dropped after each turn
// share the least and take the longest.
func (in setting) worthARace() bool { return !in.slow && in.resident }

// run runs a test in virtual time in this setting, on a database of so many
// partitions, beside the other settings of the same test.
func (in setting) run(t *testing.T, partitions int, test func(t *testing.T, w *world)) {
	t.Run(in.name, func(t *testing.T) {
		t.Parallel()
		in.skipIfSlow(t)
		empty := in.prepare(t, partitions)
		synctest.Test(t, func(t *testing.T) { test(t, newWorldIn(t, in, empty)) })
	})
}

// skipCrashes leaves the enumeration of crash points out where it is sampled.
func (in setting) skipCrashes() bool { return in.sampled && !*everywhere }

// plays reports whether the crash points of this shape are enumerated here: of all in memory;
// of every fourth on the server and of the others in files, with -short of every fourth.
func (in setting) plays(shape int) bool {
	switch {
	case *everywhere || !in.slow:
		return true
	case in.sampled:
		return false
	case in.shared:
		return shape%4 == 0
	case testing.Short():
		return shape%4 == 1
	}
	return shape%4 != 0
}

// tries is how many of so many seeded tries are made here: all in memory, but a sixth
// under the race detector and a third with -short; on a database, where each takes
// twenty times as long, a quarter, or none where crash points are sampled. With
// -everywhere it is all of them.
func (in setting) tries(all int) uint64 {
	switch {
	case *everywhere:
		return uint64(all)
	case !in.slow && racedetector.Enabled:
		return uint64(all / 6)
	case !in.slow && testing.Short():
		return uint64(all / 3)
	case !in.slow:
		return uint64(all)
	case in.sampled:
		return 0
	default:
		return uint64(all / 4)
	}
}

// runInRealTime runs a test outside of bubbles in this setting.
func (in setting) runInRealTime(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run(in.name, func(t *testing.T) {
		in.skipIfShort(t)
		test(t, newWorldIn(t, in, in.prepare(t, 1)))
	})
}

// inBothModes runs a test in virtual time on every kind of database: with runs
// kept in memory between their turns, and with runs dropped after every turn.
func inBothModes(t *testing.T, test func(t *testing.T, w *world)) {
	for _, in := range settings {
		in.run(t, 1, test)
	}
}

// inVirtualTime runs a test on every kind of database, with runs kept in memory.
func inVirtualTime(t *testing.T, test func(t *testing.T, w *world)) {
	for _, in := range settings {
		if in.resident {
			in.run(t, 1, test)
		}
	}
}

// inAGroup runs a test in virtual time on every kind of database that several
// nodes can share.
func inAGroup(t *testing.T, test func(t *testing.T, w *world)) { inAGroupOf(t, 16, test) }

// inAGroupOf is inAGroup with another number of partitions.
func inAGroupOf(t *testing.T, partitions int, test func(t *testing.T, w *world)) {
	for _, in := range settings {
		if in.shared && in.resident {
			in.run(t, partitions, func(t *testing.T, w *world) {
				w.patient = false // nodes ask for each other
				test(t, w)
			})
		}
	}
}

// inBothModesShared is inBothModes for databases that several nodes can share.
func inBothModesShared(t *testing.T, partitions int, test func(t *testing.T, w *world)) {
	for _, in := range settings {
		if in.shared {
			in.run(t, partitions, test)
		}
	}
}

// here is the clock of a database that goes like that of the machine.
func here() int64 { return time.Now().UnixNano() }

func memories(_ *testing.T, partitions int) maker {
	return func(clock func() int64) store.Opener {
		return memory.New(memory.Partitions(partitions), memory.Clock(clock))
	}
}

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

// closeDatabase ends what the stores of a database share, if they share anything.
func closeDatabase(db store.Opener) error {
	if c, ok := db.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
