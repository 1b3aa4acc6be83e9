package engine_test

import (
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

// backend is a kind of database that the engine is tested on.
type backend struct {
	// prepare readies databases of so many partitions. It is called outside of
	// bubbles.
	prepare func(t *testing.T, partitions int) maker

	shared bool // several nodes may serve one database, and partitions may be several
	onDisk bool // it is not in memory; everything takes twenty times as long
}

// maker makes an empty database with this clock, in a bubble or outside of any,
// when the one that it made before is closed.
type maker func(clock func() int64) store.Opener

var (
	inMemory   = backend{prepare: memories, shared: true}
	onSQLite   = backend{prepare: files, onDisk: true}
	onPostgres = backend{prepare: schemas, shared: true, onDisk: true}
)

// setting is a kind of database, and whether runs are kept in memory between
// their turns or dropped after each, so that every turn is a replay.
type setting struct {
	name string
	backend
	resident bool
}

// everywhere is where the tests of this package run: of the kinds of database that are compiled.
var everywhere = slices.DeleteFunc([]setting{
	{name: "memory-evicted", backend: inMemory},
	{name: "memory-resident", backend: inMemory, resident: true},
	{name: "sqlite-evicted", backend: onSQLite},
	{name: "sqlite-resident", backend: onSQLite, resident: true},
	{name: "postgres-evicted", backend: onPostgres},
	{name: "postgres-resident", backend: onPostgres, resident: true},
}, func(in setting) bool { return in.prepare == nil })

// need is what a test needs of a database. That the stores do the same is proved by
// storetest and by their lockstep with memory; so a test plays in memory, and on the
// databases too if it has a need of them. At night all play everywhere.
type need string

const (
	needsNothing      need = ""
	needsFencing      need = "epochs, leases and takeovers are kept by its locks"
	needsHooks        need = "users' code runs in its transactions"
	needsTransactions need = "what becomes visible together, and lost answers"
	needsQueries      need = "searches, pages and sweeps are its SQL"
	needsClocks       need = "its clock is not that of the process"
	needsNumbers      need = "very many rows, in memory and on a server"
)

// plays reports whether a test with this need plays in this setting. One that is about
// large numbers plays once in memory and once on a server.
func (in setting) plays(n need) bool {
	switch {
	case extent.Nightly():
		return true
	case n == needsNumbers:
		return in.shared && in.resident && !testing.Short()
	case in.onDisk:
		return n != needsNothing && !testing.Short()
	}
	return true
}

// run runs a test in virtual time in this setting, on a database of so many
// partitions, beside the other settings of the same test.
func (in setting) run(t *testing.T, partitions int, test func(t *testing.T, w *world)) {
	t.Run(in.name, func(t *testing.T) {
		t.Parallel()
		empty := in.prepare(t, partitions)
		synctest.Test(t, func(t *testing.T) { test(t, newWorldIn(t, in, empty)) })
	})
}

// tries is how many of so many seeded tries are made here: all at night; in memory a third, and
// with -short a twelfth, with runs kept there; on a database none. Each push strikes every write in turn anyway.
func (in setting) tries(all int) uint64 {
	switch {
	case extent.Nightly():
		return uint64(all)
	case in.onDisk, testing.Short() && !in.resident:
		return 0
	case testing.Short():
		return uint64(all / 12)
	}
	return uint64(all / 3)
}

// runInRealTime runs a test outside of bubbles in this setting.
func (in setting) runInRealTime(t *testing.T, test func(t *testing.T, w *world)) {
	t.Run(in.name, func(t *testing.T) { test(t, newWorldIn(t, in, in.prepare(t, 1))) })
}

// inBothModes runs a test in virtual time with runs kept in memory between their turns,
// and with runs dropped after every turn. With -short it is the former, as users have it.
func inBothModes(t *testing.T, test func(t *testing.T, w *world)) { needsNothing.inBothModes(t, test) }

// inBothModes runs it on databases, too; there runs are dropped after every turn, which
// asks the most of them.
func (n need) inBothModes(t *testing.T, test func(t *testing.T, w *world)) {
	for _, in := range everywhere {
		if in.plays(n) && (!in.onDisk || !in.resident || n == needsNumbers || extent.Nightly()) && (in.resident || !testing.Short()) {
			in.run(t, 1, test)
		}
	}
}

// inVirtualTime runs a test with runs kept in memory.
func inVirtualTime(t *testing.T, test func(t *testing.T, w *world)) {
	needsNothing.inVirtualTime(t, test)
}

func (n need) inVirtualTime(t *testing.T, test func(t *testing.T, w *world)) {
	for _, in := range everywhere {
		if in.resident && in.plays(n) {
			in.run(t, 1, test)
		}
	}
}

// inAGroup runs a test in virtual time on databases that several nodes can share.
func inAGroup(t *testing.T, test func(t *testing.T, w *world)) { needsNothing.inAGroupOf(t, 16, test) }

func (n need) inAGroup(t *testing.T, test func(t *testing.T, w *world)) { n.inAGroupOf(t, 16, test) }

// inAGroupOf is inAGroup with another number of partitions.
func inAGroupOf(t *testing.T, partitions int, test func(t *testing.T, w *world)) {
	needsNothing.inAGroupOf(t, partitions, test)
}

func (n need) inAGroupOf(t *testing.T, partitions int, test func(t *testing.T, w *world)) {
	for _, in := range everywhere {
		if in.shared && in.resident && in.plays(n) {
			in.run(t, partitions, func(t *testing.T, w *world) {
				w.patient = false // nodes ask for each other
				test(t, w)
			})
		}
	}
}

// inBothModesShared is inBothModes on databases that several nodes can share.
func inBothModesShared(t *testing.T, partitions int, test func(t *testing.T, w *world)) {
	needsNothing.inBothModesShared(t, partitions, test)
}

func (n need) inBothModesShared(t *testing.T, partitions int, test func(t *testing.T, w *world)) {
	for _, in := range everywhere {
		if in.shared && in.plays(n) && (!in.onDisk || !in.resident || extent.Nightly()) && (in.resident || !testing.Short()) {
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

// closeDatabase ends what the stores of a database share, if they share anything.
func closeDatabase(db store.Opener) error {
	if c, ok := db.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
