package perduretest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/faulty"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

// Env is a database, the engine that serves it at the moment, and a plan of faults. Its
// methods are safe for concurrent use. Methods that need an engine start the first one.
type Env struct {
	t      testing.TB
	config config
	store  store.Opener

	lives sync.WaitGroup

	mu            sync.Mutex
	definitions   []perdure.Definition
	faults        map[int][]faulty.Fault // by write, over all lives
	writes        []string               // of the lives that are over
	born, crashes int
	darkUntil     time.Time // end of an outage
	life          *life     // nil between two
	changed       chan struct{}
	failure       error // why no engine starts
	living        bool  // somebody sees to it that there is a life
	closed        bool
	signals       int // and operations sent so far
	mocks         mocks
	injections    []*injection
	runs          map[string][]string // that had attempts, by workflow ID
	later         sync.WaitGroup      // functions of After that have begun
	timers        []*time.Timer       // of those that have not
}

// Test runs f in virtual time with an environment of its own. As in
// testing/synctest, t.Run, t.Parallel and t.Deadline must not be called inside.
func Test(t *testing.T, f func(t *testing.T, env *Env), options ...Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		env := newEnv(t, options)
		// A cleanup runs also after t.FailNow, and after those that f registers.
		t.Cleanup(env.close)
		f(t, env)
	})
}

func newEnv(t *testing.T, options []Option) *Env {
	e := &Env{t: t, config: config{patience: defaultPatience}, faults: map[int][]faulty.Fault{}, runs: map[string][]string{}, changed: make(chan struct{})}
	for _, o := range options {
		o(&e.config)
	}
	if e.config.store != nil {
		e.store = e.config.store()
	} else {
		e.store = memory.New()
	}
	return e
}

// Register registers workflows and activities for the engines of this environment, from
// the next start of an engine. A definition replaces an earlier one of its name, so
// Register and Restart together deploy new code.
func (e *Env) Register(definitions ...perdure.Definition) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, d := range definitions {
		if d == nil {
			continue // perdure.Open reports it
		}
		e.definitions = slices.DeleteFunc(e.definitions, func(old perdure.Definition) bool {
			return old != nil && old.Name() == d.Name()
		})
	}
	e.definitions = append(e.definitions, definitions...)
}

// At plans faults for a write to the database. Writes are numbered from 1 over all
// engines of this environment, including those that start and end an engine. Slow can be
// combined with any other fault. If the write has begun already, the test fails.
func (e *Env) At(write int, faults ...Fault) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if begun := e.writesLocked(); write <= begun {
		e.t.Fatalf("Env.At(%d): %d writes have begun already", write, begun)
	}
	for _, f := range faults {
		if f.write == (faulty.Fault{}) {
			e.t.Fatalf("Env.At(%d): %q can only happen to attempts; see Env.Inject", write, f)
		}
		e.faults[write] = append(e.faults[write], f.write)
		if e.life != nil {
			e.life.plan.At(write-len(e.writes), f.write)
		}
	}
}

// Writes returns how many writes to the database have begun.
func (e *Env) Writes() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.writesLocked()
}

func (e *Env) writesLocked() int {
	n := len(e.writes)
	if e.life != nil {
		n += e.life.plan.Writes()
	}
	return n
}

// Ops lists the writes that have begun, with their numbers and faults. It shows the
// number of a write for At.
func (e *Env) Ops() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	ops := slices.Clone(e.writes)
	if e.life != nil {
		ops = append(ops, e.life.ops(len(ops))...)
	}
	return ops
}

// Crashes returns how often the process has died.
func (e *Env) Crashes() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.crashes
}

// Outage makes the database unavailable for a time from now. The engine notices when it
// next reads or writes, which an idle one does once an hour of virtual time: Ready and
// Health show a shorter outage only if something runs during it.
func (e *Env) Outage(length time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.darkUntil = time.Now().Add(length)
	if e.life != nil {
		e.life.darken(e.darkUntil)
	}
}

// After calls f in a goroutine of its own when that much virtual time has passed:
// to send a signal while the test waits for the result, or to crash.
//
//	env.After(48*time.Hour, func() {
//		if err := paid.Send(t.Context(), env.Workflow("order-17"), "by bank"); err != nil {
//			t.Error(err)
//		}
//	})
//	env.After(72*time.Hour, env.Crash)
//
// The channel is closed when f has returned. If the test ends before d, f is not called;
// a call that has begun is waited for.
func (e *Env) After(d time.Duration, f func()) (done <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	over := make(chan struct{})
	if e.closed {
		return over
	}
	e.later.Add(1)
	e.timers = append(e.timers, time.AfterFunc(d, func() {
		defer e.later.Done()
		defer close(over)
		f()
	}))
	return over
}

// Engine returns the engine that serves the database now, and starts one if there is
// none. After the next crash that engine is dead: call Engine again. If none can be
// started, the test fails.
func (e *Env) Engine() *perdure.Engine {
	e.t.Helper()
	l, err := e.await()
	if err != nil {
		e.t.Fatal(err)
	}
	return l.engine
}

// Crash ends the process now, as kill -9 does, and returns when the next engine has
// started. It may be called while other goroutines wait for results. After the test
// function has returned it does nothing.
func (e *Env) Crash() {
	e.t.Helper()
	l, err := e.await()
	if err == nil {
		l.plan.Crash()
		<-l.over
		_, err = e.await()
	}
	if err != nil && !errors.Is(err, errClosed) {
		e.t.Error(err)
	}
}

// Restart stops the engine as a deployment does, gives running attempts 10 seconds, and
// returns when the next engine has started.
func (e *Env) Restart() {
	e.t.Helper()
	l, err := e.await()
	if err != nil {
		e.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := e.stop(ctx, l); err != nil {
		e.t.Fatalf("The engine did not stop: %v", err)
	}
	e.Engine()
}

func (e *Env) isClosed() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

var errClosed = errors.New("perduretest: the test is over")

// close stops the engine, closes the database, reports, and looks for goroutines
// that are left.
func (e *Env) close() {
	if !e.t.Failed() && !e.t.Skipped() {
		for _, what := range e.idle() {
			e.t.Error(what)
		}
	}
	e.mu.Lock()
	e.closed = true
	for _, timer := range e.timers {
		if timer.Stop() {
			e.later.Done()
		}
	}
	l := e.life
	e.tell()
	e.mu.Unlock()
	if l != nil {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		if err := e.stop(now, l); err != nil {
			e.t.Errorf("The engine did not stop: %v", err)
		}
	}
	e.lives.Wait()
	e.later.Wait()
	if c, ok := e.store.(io.Closer); ok {
		if err := c.Close(); err != nil {
			e.t.Errorf("The database did not close: %v", err)
		}
	}
	if left := leftover(); left != "" {
		e.t.Errorf("Goroutines are left after the engine has stopped:\n%s", left)
	}
	if e.t.Failed() {
		e.t.Log(e.report())
	}
}

// logger writes what an engine says to the test's own output, until the
// process is dead.
func (l *life) logger(t testing.TB) *slog.Logger {
	return slog.New(&mortal{slog.NewTextHandler(t.Output(), nil), l.plan})
}

// mortal is a handler that is silent after the death of its process.
type mortal struct {
	slog.Handler
	process *faulty.Plan
}

func (m *mortal) Handle(ctx context.Context, r slog.Record) error {
	if m.process.IsCrashed() {
		return nil
	}
	return m.Handler.Handle(ctx, r)
}

func (m *mortal) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &mortal{m.Handler.WithAttrs(attrs), m.process}
}

func (m *mortal) WithGroup(name string) slog.Handler {
	return &mortal{m.Handler.WithGroup(name), m.process}
}

// engineOptions are what every engine of the environment is opened with.
func (e *Env) engineOptions(l *life) []perdure.Option {
	e.mu.Lock()
	defer e.mu.Unlock()
	options := []perdure.Option{
		perdure.Register(e.mocks.among(e.definitions)...),
		perdure.NodeName("perduretest"),
		perdure.Logger(l.logger(e.t)),
		virtual(e.config.seed, e.around(l)),
	}
	if !e.config.resident {
		options = append(options, perdure.MaxResident(-1), perdure.CheckDeterminism())
	}
	return append(options, e.config.engine...)
}
