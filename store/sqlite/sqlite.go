package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/migration"
	"github.com/perdure/perdure/store"
)

// readers is the number of connections that read.
const readers = 4

// cacheSize is the page cache of the writing connection, in KiB. A larger one costs more
// than it saves: a commit that moved pages in a tree walks all cached pages, and uncached
// ones come from the operating system's memory.
const cacheSize = 8 << 10

// Level is the durability of a commit.
type Level int

const (
	// Full: a commit that has returned survives kill -9 and power loss.
	Full Level = iota
	// Normal: a commit that has returned survives kill -9, but the last ones before a
	// power loss may be lost. The file stays consistent, as if the machine had failed a
	// little earlier.
	Normal
)

// Option is an option of File.
type Option func(*file)

// Durability sets the durability of commits. The default is Full.
func Durability(level Level) Option { return func(f *file) { f.level = level } }

// Exclusive declares that no other process uses the file, so the store does not poll for
// changes by others. Under testing/synctest it keeps virtual time from passing in steps
// of the polling interval.
func Exclusive() Option { return func(f *file) { f.exclusive = true } }

// Clock sets the database's clock, which returns nanoseconds since 1970.
// Without it the clock is time.Now.
func Clock(now func() int64) Option { return func(f *file) { f.clock = now } }

// file is the store.Opener for one path.
type file struct {
	path      string
	level     Level
	exclusive bool
	clock     func() int64
	scripts   []migration.Script // of the schema that this program uses
	asIs      bool               // the schema is not migrated
}

// File returns an opener for a database file. Open creates the file if it does not exist;
// its directory must exist.
func File(path string, options ...Option) store.Opener {
	f := &file{path: path, clock: func() int64 { return time.Now().UnixNano() }, scripts: migrations}
	for _, option := range options {
		option(f)
	}
	return f
}

// handle is an open database.
type handle struct {
	info      store.Info
	path      string // absolute, without symbolic links: the name of the file in this process
	exclusive bool
	clock     func() int64

	closing sync.Once
	closed  chan struct{}
	writer  *pool // one connection
	reader  *pool
	making  sync.WaitGroup // counts goroutines that allocate log space

	// The node that joined through this handle, and the clocks; guarded by holding the
	// writer.
	node  string
	marks clocks

	guard guard

	// unwritable is why the file may only be read, nil if it may be written.
	unwritable error
}

func (f *file) Open(ctx context.Context) (store.Store, error) {
	if f.level != Full && f.level != Normal {
		return nil, fmt.Errorf("there is no durability level %d: use sqlite.Full or sqlite.Normal", f.level)
	}
	path, err := locate(f.path)
	if err != nil {
		return nil, err
	}
	version, err := f.look(ctx, path)
	if err != nil {
		return nil, err
	}
	if f.asIs && version < int64(len(f.scripts)) {
		settle(path)
		return nil, &store.SchemaError{Location: path, Version: int(version), Wanted: len(f.scripts)}
	}
	synchronous := "synchronous(full)"
	if f.level == Normal {
		synchronous = "synchronous(normal)"
	}
	h := &handle{
		info: store.Info{
			Kind:       "sqlite",
			Location:   path,
			Partitions: 1,
			Closes:     true,
			Domain:     func(int) int { return 0 },
		},
		path:      path,
		exclusive: f.exclusive,
		clock:     f.clock,
		closed:    make(chan struct{}),
		marks:     clocks{},
	}
	writing := dsn(path, "rw", "foreign_keys(on)", synchronous, fmt.Sprintf("cache_size(%d)", -cacheSize), fmt.Sprintf("wal_autocheckpoint(%d)", autocheckpoint), "journal_size_limit(67108864)", "temp_store(memory)")
	h.writer = newPool(writing, 1, h.closed)
	h.reader = newPool(dsn(path, "ro", "query_only(on)", "temp_store(memory)"), readers, h.closed)
	err = patiently(ctx, func() error { return create(ctx, path) })
	if _, is := errors.AsType[*unwritableError](err); is && version == int64(len(f.scripts)) {
		h.unwritable = err
		h.reader = newPool(dsn(path, reading(path), "query_only(on)", "temp_store(memory)"), readers, h.closed)
		return h, h.guard.open(path)
	}
	if err != nil {
		return nil, err
	}
	migrated := func(c *conn) error { return migrate(c, f.scripts) }
	if err := patiently(ctx, func() error { return h.write(ctx, "Open", migrated) }); err != nil {
		h.Close()
		return nil, explain(path, err)
	}
	if err := h.guard.open(path); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// look is inspect, with patience.
func (f *file) look(ctx context.Context, path string) (version int64, err error) {
	err = patiently(ctx, func() (err error) {
		version, err = inspect(ctx, path, len(f.scripts))
		return err
	})
	return version, err
}

func (f *file) Schema(ctx context.Context) (store.Schema, error) {
	path, err := locate(f.path)
	if err != nil {
		return store.Schema{}, err
	}
	version, err := f.look(ctx, path)
	if err == nil {
		settle(path)
	}
	s := store.Schema{Location: path, Version: int(version), Wanted: len(f.scripts)}
	if err == nil && s.Version < s.Wanted {
		s.Due = steps(f.scripts, version)
	}
	return s, err
}

func (f *file) AsIs() store.Opener {
	same := *f
	same.asIs = true
	return &same
}

func (h *handle) Info() store.Info { return h.info }

// Close waits for calls in progress and closes the file. If nothing else has it open, all
// that was written is then in the file itself. A node that joined through this handle and has
// not left is dead from then on.
func (h *handle) Close() (err error) {
	h.closing.Do(func() { err = h.close() })
	return err
}

func (h *handle) close() error {
	if h.unwritable != nil {
		close(h.closed)
		return h.fail("Close", h.reader.drain())
	}
	c, err := h.writer.get(context.Background())
	close(h.closed) // no caller gets a connection from here on
	if c != nil {
		if h.node != "" || len(h.marks) > 0 {
			err = transact(c, h.depart)
		}
		h.writer.put(c, err != nil)
	}
	h.making.Wait()
	err = errors.Join(h.fail("Close", err), h.reader.drain(), h.writer.drain())
	if h.guard.file != nil && same(h.path, h.guard.file) {
		settle(h.path)
	}
	h.unlock()
	return err
}

// depart records what the handle leaves behind. If it fails, the next engine to join ends
// the node's membership.
func (h *handle) depart(c *conn) error {
	if h.node != "" {
		if err := endOthers(c, h.clock()); err != nil {
			return err
		}
	}
	return h.marks.save(c)
}

// write runs f in a write transaction. The transaction is committed if f returns nil, and
// otherwise undone. Once begun it ignores ctx, so that it is either done or not.
func (h *handle) write(ctx context.Context, op string, f func(c *conn) error) error {
	return h.hold(ctx, h.writer, op, func(c *conn) error {
		err := transact(c, f)
		if err == nil {
			h.makeRoom(c)
		}
		return err
	})
}

// written is write for a verb with a result.
func written[T any](ctx context.Context, h *handle, op string, f func(c *conn) (T, error)) (done T, err error) {
	err = h.write(ctx, op, func(c *conn) (err error) {
		done, err = f(c)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return done, nil
}

// read runs f with a connection for reading.
func (h *handle) read(ctx context.Context, op string, f func(c *conn) error) error {
	return h.hold(ctx, h.reader, op, f)
}

// result is read for a verb with a result.
func result[T any](ctx context.Context, h *handle, op string, f func(c *conn) (T, error)) (found T, err error) {
	err = h.read(ctx, op, func(c *conn) (err error) {
		found, err = f(c)
		return err
	})
	if err != nil {
		return *new(T), err
	}
	return found, nil
}

// hold runs f with a connection and converts its error to one of the store contract. What f
// did counts only if the file is still the one that was opened.
func (h *handle) hold(ctx context.Context, p *pool, op string, f func(c *conn) error) error {
	if p == h.writer && h.unwritable != nil {
		return fmt.Errorf("%s: %w", op, h.unwritable)
	}
	c, err := p.get(ctx)
	if err != nil {
		if gone := h.intact(op, nil); gone != nil && code(err) != 0 {
			return gone
		}
		return h.fail(op, err)
	}
	broken := true // unless f returns: a hook may exit its goroutine
	defer func() { p.put(c, broken) }()
	err = f(c)
	broken = breaks(err)
	if p == h.reader && err == nil && h.guard.fresh() {
		return nil
	}
	if gone := h.intact(op, c); gone != nil {
		return gone
	}
	return h.fail(op, err)
}

// snapshot is read for a verb with several queries: all see the same state.
func (h *handle) snapshot(ctx context.Context, op string, f func(c *conn) error) error {
	return h.read(ctx, op, func(c *conn) (err error) {
		if _, err := c.exec("BEGIN"); err != nil {
			return err
		}
		defer func() {
			if _, end := c.exec("ROLLBACK"); end != nil {
				err = &brokenError{end}
			}
		}()
		return f(c)
	})
}

// ofPartition is result for a verb that names a partition.
func ofPartition[T any](ctx context.Context, h *handle, op string, partition int, f func(c *conn) (T, error)) (T, error) {
	if err := h.info.Check(partition); err != nil {
		return *new(T), err
	}
	return result(ctx, h, op, f)
}
