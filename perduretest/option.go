package perduretest

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store"
)

// Option is an option of Test and EveryWrite.
type Option func(*config)

type config struct {
	store    func() store.Opener // nil: a new memory store
	resident bool
	downtime time.Duration
	patience time.Duration
	seed     uint64
	engine   []perdure.Option
}

// defaultPatience is longer than any wait that a test means.
const defaultPatience = 10 * 365 * 24 * time.Hour

// Store sets the database. open is called once per Env, inside the bubble. The default is
// a new database in memory. A real SQLite file:
//
//	perduretest.Store(func() store.Opener {
//		return sqlite.File(filepath.Join(t.TempDir(), "test.db"), sqlite.Exclusive())
//	})
//
// Exclusive is needed: otherwise the store looks for writes of other processes
// many times a second, in virtual time as well.
//
// If the opener has a method Close() error, it is called when the last engine has ended,
// before the check for remaining goroutines.
func Store(open func() store.Opener) Option { return func(c *config) { c.store = open } }

// Resident keeps runs in memory between their turns, and does not check after each that
// their code is deterministic, as an engine normally does.
func Resident() Option { return func(c *config) { c.resident = true } }

// Downtime sets how long no process serves the database after a crash. The default is a
// nanosecond.
func Downtime(d time.Duration) Option { return func(c *config) { c.downtime = d } }

// Patience sets how long, in virtual time, the functions of this package wait before they
// report that the run is stuck. The default is ten years.
func Patience(d time.Duration) Option { return func(c *config) { c.patience = d } }

// Seed sets the seed for the jitter of backoffs. The same seed gives the same delays in
// every run of the test. The default is 0.
func Seed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// Engine adds options of perdure.Open, after those that the environment sets (node name,
// logger, MaxResident).
func Engine(options ...perdure.Option) Option {
	return func(c *config) { c.engine = append(c.engine, options...) }
}
