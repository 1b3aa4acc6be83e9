package pgbubble

import (
	"context"
	"math"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
)

// setting is where a session keeps what time it is.
const setting = "pgbubble.now"

// connections is how many a Database has at most: enough for two verbs to be at
// work at a time.
const connections = 2

// Database is a store.Opener for one bubble. It is empty when it is opened for
// the first time.
type Database struct {
	home  *Schema
	clock func() int64
	news  grapevine

	mu   sync.Mutex
	pool *pgxpool.Pool // nil until the first Open
}

// Open returns one more handle on the database.
func (d *Database) Open(ctx context.Context) (store.Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	first := d.pool == nil
	if first {
		if err := d.connect(ctx); err != nil {
			return nil, err
		}
	}
	s, err := postgres.Pool(d.pool, postgres.Schema(d.home.name)).Open(ctx)
	if err != nil {
		return nil, err
	}
	if first {
		if _, err := s.Group(ctx, ""); err != nil { // which every database has
			return nil, err
		}
	}
	return &handle{Store: s, news: &d.news, closed: make(chan struct{})}, nil
}

// Close closes the connections. All handles must be closed.
func (d *Database) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pool != nil {
		d.pool.Close()
	}
	return nil
}

// connect makes the connections of this bubble and deletes what another one has
// left. Deleting is quicker than truncating, which makes new files.
func (d *Database) connect(ctx context.Context) error {
	config, err := pgxpool.ParseConfig(d.home.dsn)
	if err != nil {
		return err
	}
	postgres.Tune(config)
	config.MaxConns = connections
	config.PrepareConn = d.tellTime
	// Nothing happens to idle connections, though virtual months pass.
	const never = math.MaxInt64
	config.HealthCheckPeriod, config.MaxConnIdleTime, config.MaxConnLifetime = never, never, never
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, d.home.deletes, pgx.QueryExecModeSimpleProtocol); err != nil {
		pool.Close()
		return err
	}
	d.pool = pool
	return nil
}

// tellTime tells a session what time it is, before a verb uses it.
func (d *Database) tellTime(ctx context.Context, conn *pgx.Conn) (usable bool, err error) {
	now, known := d.clock(), conn.PgConn().CustomData()
	if known[setting] == now {
		return true, nil
	}
	if _, err := conn.Exec(ctx, `SELECT set_config($1, $2, false)`, setting, strconv.FormatInt(now, 10)); err != nil {
		return false, err
	}
	known[setting] = now
	return true, nil
}
