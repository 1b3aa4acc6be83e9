package dbosgo

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // knows errors of the handle
	_ "github.com/jackc/pgx/v5/stdlib"                              // to look at the tables

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
)

// On returns DBOS on databases of a kind.
func On(kind place.Kind) system.System { return dbosSystem{kind} }

type dbosSystem struct{ kind place.Kind }

func (dbosSystem) Name() string       { return "DBOS" }
func (d dbosSystem) Kind() place.Kind { return d.kind }

// Resumes is true: what a process of the same executor left is recovered at Launch.
func (dbosSystem) Resumes() bool { return true }

func (d dbosSystem) Open(ctx context.Context, db place.Database, c system.Config) (system.Session, error) {
	s := &session{config: c}
	config := dbos.Config{AppName: "bench", ExecutorID: "bench", ApplicationVersion: "bench", Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	var err error
	if d.kind == place.SQLite {
		if s.file, err = synced(db.Location()); err != nil {
			return nil, err
		}
		config.SQLiteSystemDB, s.db = s.file, s.file
	} else {
		config.DatabaseURL = db.Location()
		if s.db, err = sql.Open("pgx", db.Location()); err != nil {
			return nil, err
		}
	}
	if err := s.launch(ctx, config); err != nil {
		return nil, fmt.Errorf("%w; closing: %w", err, s.db.Close())
	}
	return s, nil
}

// synced opens a file as DBOS does, but with commits that are on the disk when they return.
func synced(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(ON)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(4)
	db.SetConnMaxLifetime(time.Hour)
	return db, nil
}

// launch registers the workflows and begins to work.
func (s *session) launch(ctx context.Context, config dbos.Config) (err error) {
	if s.Context, err = dbos.NewContext(context.WithoutCancel(ctx), config); err != nil {
		return err
	}
	dbos.RegisterWorkflow(s.Context, s.chain, dbos.WithWorkflowName("chain"))
	dbos.RegisterWorkflow(s.Context, s.fan, dbos.WithWorkflowName("fan"))
	return dbos.Launch(s.Context)
}
