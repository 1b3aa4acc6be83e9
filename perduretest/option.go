package perduretest

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store"
)

// Option is a setting of Test and EveryWrite.
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

// Store sets the database; without it there is a new one in memory for each
// test. It is called once per Env, inside the bubble. A real SQLite file:
//
//	perduretest.Store(func() store.Opener {
//		return sqlite.File(filepath.Join(t.TempDir(), "test.db"), sqlite.Exclusive())
//	})
//
// Exclusive is needed: otherwise the store looks for writes of other processes
// many times a second, in virtual time as well.
//
// If the opener has a method Close() error, it is called when the last engine has
// ended, before goroutines are looked for that are left.
func Store(open func() store.Opener) Option { return func(c *config) { c.store = open } }

// Resident keeps runs in memory between their turns, as an engine normally does.
func Resident() Option { return func(c *config) { c.resident = true } }

// Downtime sets how long no process serves the database after a crash. Default is a
// nanosecond.
func Downtime(d time.Duration) Option { return func(c *config) { c.downtime = d } }

// Patience sets how long, in virtual time, a verb of this package waits before it
// reports that the run is stuck. Default is ten years.
func Patience(d time.Duration) Option { return func(c *config) { c.patience = d } }

// Seed sets what the jitter of backoffs is drawn from. The same seed gives the
// same delays in every run of the test; default 0.
func Seed(seed uint64) Option { return func(c *config) { c.seed = seed } }

// Engine adds options of perdure.Open, after those that the environment itself
// sets (node name, logger, MaxResident).
func Engine(options ...perdure.Option) Option {
	return func(c *config) { c.engine = append(c.engine, options...) }
}
