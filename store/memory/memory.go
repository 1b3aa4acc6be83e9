package memory

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/mailbox"
	"github.com/perdure/perdure/store"
)

// Database holds the data. It is a store.Opener and is safe for concurrent use.
type Database struct {
	info  store.Info
	clock func() int64

	secret []byte
	mark   string // see store.Node.Mark
	seal   store.Seal

	mu         sync.RWMutex
	turn       *sync.Cond // signals that writing or queue has changed
	writing    bool       // a write is in progress; it may have released mu to run a hook
	queue      []*int     // writes that wait, oldest first, so that a busy writer starves no other
	groups     map[string]store.Group
	switches   map[string][]store.Switch // by group
	partitions []*partition
	sequence   int64           // of the last message
	runs       ordered[runKey] // of all partitions, for listings
	ledger     ordered[ledgerKey]
	nodes      []*member // in the order of joining
	ordinal    int       // of the last node that joined
	moments    int64     // see moment
	workers    []*worker
	listeners  map[*mailbox.Box]struct{}
}

// runKey is the position of a run in a listing.
type runKey struct {
	id        string
	partition int
}

// Option configures a database.
type Option func(*Database)

// Partitions sets the number of partitions of each group; the default is one. New panics if n
// is below 1.
func Partitions(n int) Option {
	return func(db *Database) { db.info.Partitions = n }
}

// Clock sets the database's clock, which returns nanoseconds since 1970. The default is
// time.Now, which is virtual under testing/synctest.
func Clock(now func() int64) Option {
	return func(db *Database) { db.clock = now }
}

// New returns an empty database.
func New(options ...Option) *Database {
	db := &Database{
		info:      store.Info{Kind: "memory", Location: "memory", Partitions: 1, Shared: true, Wards: true, Closes: true, Domain: func(int) int { return 0 }},
		clock:     func() int64 { return time.Now().UnixNano() },
		secret:    make([]byte, 32),
		groups:    map[string]store.Group{},
		switches:  map[string][]store.Switch{},
		listeners: map[*mailbox.Box]struct{}{},
	}
	for _, option := range options {
		option(db)
	}
	if db.info.Partitions < 1 {
		panic(fmt.Sprintf("memory.Partitions(%d): a database has at least one partition", db.info.Partitions))
	}
	db.turn = sync.NewCond(&db.mu)
	db.runs.compare = func(a, b runKey) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.partition, b.partition))
	}
	_, _ = rand.Read(db.secret) // never fails
	db.ledger.compare = func(a, b ledgerKey) int {
		return cmp.Or(a.LedgerKey.Compare(b.LedgerKey), cmp.Compare(a.partition, b.partition))
	}
	db.group("")
	return db
}

// Open returns a handle on the data. Any number of handles may be open.
func (db *Database) Open(ctx context.Context) (store.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return &handle{db: db, closed: make(chan struct{})}, nil
}

// handle is a store.Store on a database.
type handle struct {
	db     *Database
	closed chan struct{} // closed by Close, under db.mu
}

func (h *handle) Info() store.Info { return h.db.info }

func (h *handle) isClosed() bool {
	select {
	case <-h.closed:
		return true
	default:
		return false
	}
}

// write waits for the write in progress and locks the data, unless the database is closed. The
// caller must call done.
func (h *handle) write(ctx context.Context) error {
	if err := h.enter(ctx); err != nil {
		return err
	}
	if h.db.seal.Closed() {
		defer h.done()
		return &store.SealedError{Location: h.db.info.Location, Seal: h.db.seal}
	}
	return nil
}

// enter is write for what a closed database permits, too.
func (h *handle) enter(ctx context.Context) error {
	db := h.db
	if err := ctx.Err(); err != nil {
		return err
	}
	db.mu.Lock()
	if db.writing || len(db.queue) > 0 {
		db.waitInLine(ctx)
	}
	err := ctx.Err()
	if err == nil && h.isClosed() {
		err = store.ErrStoreClosed
	}
	if err != nil {
		db.mu.Unlock()
		return err
	}
	db.writing = true
	return nil
}

// writeChecked is write, unless wrong is not nil.
func (h *handle) writeChecked(ctx context.Context, wrong error) error {
	if wrong != nil {
		return wrong
	}
	return h.write(ctx)
}

// waitInLine blocks until it is this write's turn or ctx ends. db.mu is held.
func (db *Database) waitInLine(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		db.mu.Lock()
		defer db.mu.Unlock()
		db.turn.Broadcast()
	})
	defer stop()
	place := new(int)
	db.queue = append(db.queue, place)
	for ctx.Err() == nil && (db.writing || db.queue[0] != place) {
		db.turn.Wait()
	}
	db.queue = slices.DeleteFunc(db.queue, func(p *int) bool { return p == place })
	db.turn.Broadcast() // the write that gave up may have been the first
}

// done ends a write.
func (h *handle) done() {
	h.db.writing = false
	h.db.turn.Broadcast()
	h.db.mu.Unlock()
}

// read locks the data for reading. The caller must call db.mu.RUnlock.
func (h *handle) read(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h.db.mu.RLock()
	if h.isClosed() {
		h.db.mu.RUnlock()
		return store.ErrStoreClosed
	}
	return nil
}

// readPartition is read for a method that names a partition.
func (h *handle) readPartition(ctx context.Context, id int) (*partition, error) {
	if err := h.db.info.Check(id); err != nil {
		return nil, err
	}
	if err := h.read(ctx); err != nil {
		return nil, err
	}
	if p := h.db.partition(id); p != nil {
		return p, nil
	}
	return newPartition(id), nil // it is empty
}

// readPartitions is read for a method that names several partitions (nil: all). It omits those
// that do not exist.
func (h *handle) readPartitions(ctx context.Context, ids []int) ([]*partition, error) {
	if err := h.readThese(ctx, ids); err != nil {
		return nil, err
	}
	if ids == nil {
		return h.db.partitions, nil
	}
	return h.db.these(ids), nil
}

// readThese is read for a method that names several partitions or places.
func (h *handle) readThese(ctx context.Context, ids []int) error {
	if err := h.check(ids); err != nil {
		return err
	}
	return h.read(ctx)
}

// check returns what is wrong with the first of some partitions or places with which something is.
func (h *handle) check(ids []int) error {
	for _, id := range ids {
		if err := h.db.info.Check(id); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the handle. The data remain in the Database, and so do the nodes that joined
// through the handle.
func (h *handle) Close() error {
	if h.enter(context.Background()) != nil {
		return nil // closed before
	}
	defer h.done()
	close(h.closed)
	return nil
}
