package floor

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
)

// Row is one attempt of one step.
type Row struct {
	Run     string
	Step    int
	Attempt int
	At      int64  // ns
	Result  string // JSON: the result, or the error
}

// Table is the database as the floor needs it.
type Table interface {
	// Insert makes rows durable in one transaction. One goroutine calls it.
	Insert(ctx context.Context, rows []Row) error
	// Done reads how many steps have succeeded, by run.
	Done(ctx context.Context) (map[string]int, error)
	// Count reads how many rows there are and of how many runs.
	Count(ctx context.Context) (rows, runs int, err error)
	Close() error
}

// On returns the floor on a kind of database.
func On(kind place.Kind) system.System {
	f := floor{name: "floor", kind: kind}
	switch kind {
	case place.SQLite:
		f.open = Modernc
	case place.Postgres:
		f.open = openPostgres
	default:
		panic(fmt.Sprintf("no floor is made for %s", kind))
	}
	return f
}

// With returns the floor on SQLite with another driver.
func With(driver string, open func(ctx context.Context, path string) (Table, error)) system.System {
	return floor{name: driver, kind: place.SQLite, open: open}
}

type floor struct {
	name string
	kind place.Kind
	open func(ctx context.Context, location string) (Table, error)
}

func (f floor) Name() string { return f.name }

func (f floor) Kind() place.Kind { return f.kind }

func (floor) Resumes() bool { return true }

func (f floor) Open(ctx context.Context, db place.Database, c system.Config) (system.Session, error) {
	table, err := f.open(ctx, db.Location())
	if err != nil {
		return nil, err
	}
	done, err := table.Done(ctx)
	if err != nil {
		table.Close()
		return nil, err
	}
	s := &session{config: c, table: table, done: done, rows: make(chan pending, largest), ended: make(chan struct{})}
	go s.commit()
	return s, nil
}
