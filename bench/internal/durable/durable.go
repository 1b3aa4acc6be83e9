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
func On(kind place.Kind) system.System { return durable{kind: kind} }

// Measured is On with the metrics of package telemetry: what they cost is the difference.
func Measured(kind place.Kind) system.System { return durable{kind: kind, metrics: true} }

// Traced is On with the spans of package telemetry/tracing for one run in several, given by
// OpenTelemetry's batcher to an exporter that drops them: what they cost without a network is
// the difference.
func Traced(kind place.Kind, oneIn int) system.System { return durable{kind: kind, spans: oneIn} }

// Intercepted is On with an interceptor around everything that does nothing: what there being
// one costs is the difference.
func Intercepted(kind place.Kind) system.System { return durable{kind: kind, intercepted: true} }

// WithSlots is On with as many slots as steps are in flight: what its limit of slots costs
// is the difference.
func WithSlots(kind place.Kind) system.System { return durable{kind: kind, slots: true} }

// Keyed is On with one of a thousand run keys for each run, and with perKey not 0 so many runs of a
// key at a time: what keys cost is the difference.
func Keyed(kind place.Kind, perKey int) system.System {
	return durable{kind: kind, keys: 1000, perKey: perKey}
}

type durable struct {
	kind    place.Kind
	slots   bool // one for each step in flight
	metrics bool // counted by package telemetry
	spans   int  // of package telemetry/tracing, for one run in this number; 0: none
	keys    int  // of runs
	perKey  int  // see perdure.PerKey

	intercepted bool // by an interceptor that does nothing
}

func (d durable) Name() string {
	switch {
	case d.slots:
		return "perdure with slots to spare"
	case d.metrics:
		return "perdure+metrics"
	case d.intercepted:
		return "perdure+interceptor"
	case d.perKey > 0:
		return fmt.Sprintf("perdure+%d runs of a key", d.perKey)
	case d.keys > 0:
		return "perdure+keys"
	case d.spans == 1:
		return "perdure+spans"
	case d.spans > 1:
		return fmt.Sprintf("perdure+spans of 1 run in %d", d.spans)
	}
	return "perdure"
}

func (d durable) Kind() place.Kind { return d.kind }

func (d durable) Resumes() bool { return d.kind != place.Memory }

func (d durable) Open(ctx context.Context, db place.Database, c system.Config) (system.Session, error) {
	opener, err := opener(db)
	if err != nil {
		return nil, err
	}
	if d.slots {
		return open(ctx, opener, c, perdure.Concurrency(c.InFlight))
	}
	if d.metrics {
		return open(ctx, opener, c, telemetry.New().Engine())
	}
	if d.intercepted {
		return open(ctx, opener, c, perdure.Intercept(intercept.New("nothing", nothing)))
	}
	if d.keys > 0 {
		s, err := open(ctx, opener, c, perdure.PerKey(d.perKey))
		if err == nil {
			s.keys = d.keys
		}
		return s, err
	}
	if d.spans > 0 {
		return openTraced(ctx, opener, c, d.spans)
	}
	return open(ctx, opener, c)
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
