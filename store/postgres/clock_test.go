package postgres

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/storetest"
)

// clocked is a database whose clock is a test's: its function now() reads a
// table, which is written before each verb.
type clocked struct {
	store.Opener
	t      testing.TB
	schema string
	clock  func() int64

	renewing bool // before it is closed

	once sync.Once
	conn *pgx.Conn
}

func newClocked(t testing.TB, clock func() int64, options ...Option) *clocked {
	t.Helper()
	return newClockedIn(t, freshSchema(), clock, options...)
}

func newClockedIn(t testing.TB, schema string, clock func() int64, options ...Option) *clocked {
	t.Helper()
	return &clocked{Opener: lasting(t, append(options, Schema(schema))...), t: t, schema: schema, clock: clock}
}

func (c *clocked) Open(ctx context.Context) (store.Store, error) {
	s, err := c.Opener.Open(ctx)
	if err != nil {
		return nil, err
	}
	c.once.Do(func() { err = c.takeOver(ctx) })
	return &atTime{Store: s, c: c}, err
}

// takeOver puts the test's clock in place of the database's.
func (c *clocked) takeOver(ctx context.Context) (err error) {
	if c.conn, err = pgx.Connect(ctx, pgtest.Shared(c.t).DSN("postgres")); err != nil {
		return err
	}
	c.t.Cleanup(func() { c.conn.Close(context.Background()) })
	_, err = c.conn.Exec(ctx, `SET search_path = `+c.schema+`; DROP TABLE IF EXISTS test_clock; CREATE TABLE test_clock AS SELECT 0::bigint AS time;
		CREATE OR REPLACE FUNCTION now() RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT time FROM `+c.schema+`.test_clock'`)
	return err
}

// set sets the database's clock to the test's.
func (c *clocked) set() {
	if _, err := c.conn.Exec(context.Background(), `UPDATE test_clock SET time = $1 WHERE time <> $1`, c.clock()); err != nil {
		c.t.Error(err)
	}
}

// atTime sets the clock before each verb that asks for the time.
type atTime struct {
	store.Store
	c    *clocked
	last store.Renewal
}

func (s *atTime) Join(ctx context.Context, n store.Node) error {
	s.c.set()
	s.last = store.Renewal{Node: n.ID}
	return s.Store.Join(ctx, n)
}

func (s *atTime) Renew(ctx context.Context, r store.Renewal) (*store.Membership, error) {
	s.c.set()
	s.last = r
	return s.Store.Renew(ctx, r)
}

// Close is a death right after a renewal: what a process knew of the time is
// written down when it renews its lease, not with each commit.
func (s *atTime) Close() error {
	if s.last.Node != "" && s.c.renewing {
		s.Renew(context.Background(), store.Renewal{Node: s.last.Node, Last: s.last.Next, Next: s.last.Next + 1}) // which fails when closed before
	}
	return s.Store.Close()
}

func (s *atTime) Leave(ctx context.Context, node string) error {
	s.c.set()
	return s.Store.Leave(ctx, node)
}

func (s *atTime) Claim(ctx context.Context, node string, partitions []int) ([]store.Ownership, error) {
	s.c.set()
	return s.Store.Claim(ctx, node, partitions)
}

func (s *atTime) Release(ctx context.Context, node string, partitions []int) error {
	s.c.set()
	return s.Store.Release(ctx, node, partitions)
}

func (s *atTime) Commit(ctx context.Context, turns []store.Turn) (store.Result, error) {
	s.c.set()
	return s.Store.Commit(ctx, turns)
}

func (s *atTime) Create(ctx context.Context, r store.Run) error {
	s.c.set()
	return s.Store.Create(ctx, r)
}

func (s *atTime) Post(ctx context.Context, m store.Message) error {
	s.c.set()
	return s.Store.Post(ctx, m)
}

func (s *atTime) Nodes(ctx context.Context) ([]store.Member, error) {
	s.c.set()
	return s.Store.Nodes(ctx)
}

func (s *atTime) Attend(ctx context.Context, w store.Worker) (*store.Attendance, error) {
	s.c.set()
	return s.Store.Attend(ctx, w)
}

func (s *atTime) ClaimTasks(ctx context.Context, claim store.TaskClaim) ([]store.Task, error) {
	s.c.set()
	return s.Store.ClaimTasks(ctx, claim)
}

func (s *atTime) Tasks(ctx context.Context, f store.TaskFilter) ([]store.Task, error) {
	s.c.set()
	return s.Store.Tasks(ctx, f)
}

func TestClock(t *testing.T) {
	storetest.Clock(t, func(t *testing.T, clock func() int64) store.Opener {
		c := newClocked(t, clock)
		c.renewing = true
		return c
	})
}
