package riverqueue

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
)

// connections is the best of the numbers tried.
const connections = 32

// fetchEvery is how often River looks for jobs, far more often than by default
// (100 ms to 1 s): as often as it can if one job at a time is all there is, and
// with many under way as often as showed the best throughput.
func fetchEvery(inFlight int) time.Duration {
	if inFlight == 1 {
		return time.Millisecond
	}
	return 10 * time.Millisecond
}

// System returns River.
func System() system.System { return riverSystem{} }

// WithDefaults returns River that fetches jobs as often as it does by default.
func WithDefaults() system.System { return riverSystem{defaults: true} }

type riverSystem struct{ defaults bool }

func (r riverSystem) Name() string {
	if r.defaults {
		return "River with defaults"
	}
	return "River"
}

func (riverSystem) Kind() place.Kind { return place.Postgres }

// Resumes is false: jobs of a process that died are rescued by time, after an
// hour by default.
func (riverSystem) Resumes() bool { return false }

func (r riverSystem) Open(ctx context.Context, db place.Database, c system.Config) (system.Session, error) {
	config, err := pgxpool.ParseConfig(db.Location())
	if err != nil {
		return nil, err
	}
	config.MaxConns = connections
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &session{pool: pool, waiting: map[string]chan int{}}
	if err := s.start(ctx, c, r.defaults); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// start migrates the database and begins to work.
func (s *session) start(ctx context.Context, c system.Config, defaults bool) error {
	driver := riverpgxv5.New(s.pool)
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: silent})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &stepWorker{session: s, body: c.Step})
	river.AddWorker(workers, &tryWorker{session: s, body: c.Try})
	config := &river.Config{
		Queues:      map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: c.InFlight}},
		Workers:     workers,
		RetryPolicy: constantBackoff{},
		Logger:      silent, // it reports every failed attempt, and Flaky's are meant
	}
	if !defaults {
		config.FetchCooldown, config.FetchPollInterval = fetchEvery(c.InFlight), fetchEvery(c.InFlight)
	}
	s.client, err = river.NewClient(driver, config)
	if err != nil {
		return err
	}
	return s.client.Start(context.WithoutCancel(ctx)) // Close stops it
}

var silent = slog.New(slog.NewTextHandler(io.Discard, nil))

type constantBackoff struct{}

func (constantBackoff) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(system.Backoff) }

// session is a client at work.
type session struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]

	mu      sync.Mutex
	waiting map[string]chan int // who waits for the end of a run, by ID
}
