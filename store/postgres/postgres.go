package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/internal/migration"
	"github.com/perdure/perdure/store"
)

// defaultPartitions is the number of partitions of a group unless an option sets it: enough
// to spread over dozens of nodes, few enough to claim in one statement.
const defaultPartitions = 256

// Option is an option of URL and Pool.
type Option func(*settings)

type settings struct {
	schema     string
	scripts    []migration.Script
	partitions int // 0: not given
	pooled     bool
	poll       time.Duration // 0: listen
	distribute bool

	distributed bool // distribute the tables
}

// Schema sets the schema of perdure's tables. The default is "perdure". Open creates it
// if it does not exist; it must have no other tables. Two schemas are two databases.
func Schema(name string) Option { return func(s *settings) { s.schema = name } }

// Partitions sets how many partitions each group of nodes has when the database is
// created. The default is 256. Nodes share work by partitions, so choose several for each
// node that there will ever be. The number cannot be changed later: Open refuses another
// number than the database's.
func Partitions(n int) Option {
	return func(s *settings) {
		s.partitions = n
		if n < 1 {
			s.partitions = -1
		}
	}
}

// Pooled is for connections through a pooler in transaction mode, such as PgBouncer,
// which gives every transaction another session: the store prepares and sets nothing in a
// session, and Listen polls twenty times a second instead of listening. In a name for
// store.Named, perdure.OpenURL and the command, pooled=true in the parameters says the same.
func Pooled() Option {
	return func(s *settings) {
		s.pooled = true
		if s.poll == 0 {
			s.poll = pollInterval
		}
	}
}

// Distributed makes Open distribute the tables of runs, by their partition, over the
// workers of the Citus cluster whose coordinator the connections lead to, when it makes the
// schema or brings it up to date. An existing database is distributed with all it holds,
// while no engine runs on it. It stays distributed, and is opened without this option from
// then on. Open fails on a server without Citus.
func Distributed() Option { return func(s *settings) { s.distribute = true } }

// Poll makes Listen poll at this interval instead of listening. Under testing/synctest
// virtual time stands still while a connection listens; with Poll it continues.
func Poll(every time.Duration) Option { return func(s *settings) { s.poll = every } }

// schemaName is the pattern of schema names: those that need no quoting in a shell.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

func newSettings(options []Option) (*settings, error) {
	s := &settings{schema: "perdure", scripts: migrations}
	for _, option := range options {
		option(s)
	}
	switch {
	case !schemaName.MatchString(s.schema) || strings.HasPrefix(s.schema, "pg_"):
		return nil, fmt.Errorf("postgres.Schema(%q): a name has lower-case letters, digits and underscores, at most 63, and does not begin with pg_", s.schema)
	case s.partitions < 0:
		return nil, errors.New("postgres.Partitions: a group has at least one partition")
	case s.poll < 0:
		return nil, fmt.Errorf("postgres.Poll(%s): the time must not be negative", s.poll)
	}
	return s, nil
}

// URL returns an opener for a database by its URL,
// postgres://user:password@host:port/name, or by keywords and values as for libpq. It may
// name several hosts: the store connects to the first that accepts writes. It may have
// settings of pgxpool such as pool_max_conns. A default_query_exec_mode with which the store
// cannot work (exec, simple_protocol) is replaced by cache_describe, which like them prepares
// no statement.
func URL(url string, options ...Option) store.Opener {
	return &opener{options: options, connect: func(ctx context.Context, s *settings) (*pgxpool.Pool, error) {
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		if s.distributed && !s.pooled {
			forCitus(config)
		}
		if s.pooled {
			TunePooled(config)
		} else {
			Tune(config)
		}
		if !knowsTypes(config) {
			config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		config.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
			keepBuffers(c)
			return nil
		}
		return pgxpool.NewWithConfig(ctx, config)
	}, own: true}
}

// knowsTypes reports whether connections ask the server for the types of parameters. Without
// them the driver cannot encode those of all statements.
func knowsTypes(config *pgxpool.Config) bool {
	mode := config.ConnConfig.DefaultQueryExecMode
	return mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol
}

// Pool returns an opener for a database with the program's own connections. Closing the
// store leaves them open. Call Tune with the pool's configuration, unless it goes through
// a pooler in transaction mode; then call TunePooled, and use Pooled.
func Pool(pool *pgxpool.Pool, options ...Option) store.Opener {
	return &opener{options: options, connect: func(context.Context, *settings) (*pgxpool.Pool, error) { return pool, nil }}
}

type opener struct {
	options []Option
	connect func(context.Context, *settings) (*pgxpool.Pool, error)
	own     bool // the pool belongs to the store
	asIs    bool // the schema is not migrated
}

// handle is an open database.
type handle struct {
	info        store.Info
	schema      string
	scripts     []migration.Script // of the schema that this program uses
	pooled      bool
	poll        time.Duration
	pool        *pgxpool.Pool
	own         bool
	asIs        bool                  // Open does not migrate the schema
	distribute  bool                  // Open distributes the tables
	distributed bool                  // see distributed.go
	shared      chan struct{}         // see share
	first       chan struct{}         // see turns
	lax         bool                  // commits are durable only on request
	idle        atomic.Int64          // how long a transaction that locks partitions may be idle, ns
	domains     atomic.Pointer[[]int] // commit domains of the partitions of a distributed database
	mark        string                // identifies the database, see fingerprint
	texts       sync.Map              // statements for this schema, by their text for the default schema

	clock      atomic.Int64 // the highest database time seen
	partitions atomic.Int64 // at least this many exist
	lent       sync.Map     // what hooks have: *pgx.Conn → *conn, and *sql.Tx → pgx.Tx below it

	closing sync.Once
	closed  chan struct{}
	calls   sync.RWMutex // read-locked by each call in progress
}

// connected returns a handle with connections to a database that was not examined yet.
func (o *opener) connected(ctx context.Context, s *settings) (*handle, error) {
	pool, err := o.connect(ctx, s)
	if err != nil {
		return nil, err
	}
	if mode := pool.Config().ConnConfig.DefaultQueryExecMode; !knowsTypes(pool.Config()) {
		return nil, fmt.Errorf("postgres.Pool: the DefaultQueryExecMode of the pool is %q, in which the driver guesses the types of parameters: set it to pgx.QueryExecModeCacheDescribe, which prepares no statement either", mode)
	}
	h := &handle{schema: s.schema, scripts: s.scripts, pooled: s.pooled, poll: s.poll, pool: pool, own: o.own, asIs: o.asIs, distribute: s.distribute, closed: make(chan struct{})}
	h.idle.Store(int64(idleLimit))
	h.shared = make(chan struct{}, max(1, int(pool.Config().MaxConns)-reserved))
	h.first = make(chan struct{}, 1)
	h.info = store.Info{
		Kind:     "postgres",
		Location: location(pool.Config().ConnConfig, s.schema),
		Shared:   true,
		Domain:   h.domain,
		// One connection is left for turns without hooks.
		LoneHooks: max(1, cap(h.shared)-1),
	}
	return h, nil
}

func (o *opener) Open(ctx context.Context) (store.Store, error) {
	s, err := newSettings(o.options)
	if err != nil {
		return nil, err
	}
	h, err := o.connected(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := h.prepare(ctx, s.partitions); err != nil {
		h.Close()
		return nil, h.explain(err)
	}
	if h.distributed && !s.distributed {
		return o.reopen(ctx, s, h)
	}
	return h, nil
}

func (o *opener) Schema(ctx context.Context) (store.Schema, error) {
	s, err := newSettings(o.options)
	if err != nil {
		return store.Schema{}, err
	}
	h, err := o.connected(ctx, s)
	if err != nil {
		return store.Schema{}, err
	}
	defer h.Close()
	schema, err := h.due(ctx, s.partitions)
	return schema, h.explain(err)
}

func (o *opener) AsIs() store.Opener {
	same := *o
	same.asIs = true
	return &same
}

func (h *handle) Info() store.Info { return h.info }

// closeTime is how long Close waits for connections to close. A connection that the driver
// gave up may take longer on a dead network; Close does not wait for it.
const closeTime = time.Second

// Close waits for calls in progress and closes the connections, if they belong to the
// store.
func (h *handle) Close() error {
	h.closing.Do(func() {
		close(h.closed)
		h.calls.Lock()
		defer h.calls.Unlock()
		if !h.own {
			return
		}
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			h.pool.Close()
		}()
		select {
		case <-closed:
		case <-time.After(closeTime):
		}
	})
	return nil
}

func (h *handle) isClosed() bool {
	select {
	case <-h.closed:
		return true
	default:
		return false
	}
}

// sql returns a statement for the schema of this database. Statements are written for the
// default schema.
func (h *handle) sql(statement string) string {
	if h.schema == "perdure" {
		return statement
	}
	if text, ok := h.texts.Load(statement); ok {
		return text.(string)
	}
	text := strings.ReplaceAll(statement, "perdure.", `"`+h.schema+`".`)
	h.texts.Store(statement, text)
	return text
}

// observe keeps the highest database time that this process has seen. The times that it
// returns never go back, even if a server with another clock takes over.
func (h *handle) observe(now int64) int64 {
	for {
		known := h.clock.Load()
		if now <= known {
			return known
		}
		if h.clock.CompareAndSwap(known, now) {
			return now
		}
	}
}
