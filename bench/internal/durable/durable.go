package durable

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/intercept"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/telemetry"
)

// On returns perdure on databases of a kind, with its default settings.
func On(kind place.Kind) system.System { return durable{kind: kind, name: "perdure"} }

// Measured is On with the metrics of package telemetry: what they cost is the difference.
func Measured(kind place.Kind) system.System {
	return durable{kind: kind, name: "perdure+metrics", with: func(system.Config) perdure.Option { return telemetry.New().Engine() }}
}

// Intercepted is On with an interceptor around everything that does nothing: what there being
// one costs is the difference.
func Intercepted(kind place.Kind) system.System {
	return durable{kind: kind, name: "perdure+interceptor", with: func(system.Config) perdure.Option {
		return perdure.Intercept(intercept.New("nothing", nothing))
	}}
}

// WithSlots is On with as many slots as steps are in flight: what its limit of slots costs
// is the difference.
func WithSlots(kind place.Kind) system.System {
	return durable{kind: kind, name: "perdure with slots to spare", with: func(c system.Config) perdure.Option {
		return perdure.Concurrency(c.InFlight)
	}}
}

// Keyed is On with one of a thousand run keys for each run, and with perKey not 0 so many runs of a
// key at a time: what keys cost is the difference.
func Keyed(kind place.Kind, perKey int) system.System {
	name := "perdure+keys"
	if perKey > 0 {
		name = fmt.Sprintf("perdure+%d runs of a key", perKey)
	}
	return durable{kind: kind, name: name, keys: 1000, with: func(system.Config) perdure.Option { return perdure.PerKey(perKey) }}
}

type durable struct {
	kind place.Kind
	name string
	keys int                                // of runs
	with func(system.Config) perdure.Option // the setting that is measured, nil for none
}

func (d durable) Name() string { return d.name }

func (d durable) Kind() place.Kind { return d.kind }

func (d durable) Resumes() bool { return d.kind != place.Memory }

func (d durable) Open(ctx context.Context, db place.Database, c system.Config) (system.Session, error) {
	at, err := opener(db)
	if err != nil {
		return nil, err
	}
	var settings []perdure.Option
	if d.with != nil {
		settings = append(settings, d.with(c))
	}
	s, err := open(ctx, at, c, settings...)
	if err == nil {
		s.keys = d.keys
	}
	return s, err
}

func nothing(ctx context.Context, _ *intercept.Op, next intercept.Next) error { return next(ctx) }

// opener is the store for a database.
func opener(db place.Database) (store.Opener, error) {
	switch db := db.(type) {
	case *place.InMemory:
		return db.Database, nil
	case *place.SQLiteFile:
		return sqlite.File(db.Location()), nil
	case *place.PostgresDatabase:
		return postgres.URL(db.Location()), nil
	}
	return nil, fmt.Errorf("perdure has no store for a %T", db)
}
