package durable

import (
	"context"
	"errors"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perdure/perdure/bench/internal/place"
	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/telemetry/tracing"
)

// Traced is On with the spans of package telemetry/tracing for one run in several, given by
// OpenTelemetry's batcher to an exporter that drops them: what they cost without a network is
// the difference.
func Traced(kind place.Kind, oneIn int) system.System {
	name := "perdure+spans"
	if oneIn > 1 {
		name = fmt.Sprintf("perdure+spans of 1 run in %d", oneIn)
	}
	return traced{durable{kind: kind, name: name}, oneIn}
}

type traced struct {
	durable
	oneIn int
}

// nowhere is an exporter that drops all spans.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

func (d traced) Open(ctx context.Context, db place.Database, c system.Config) (system.Session, error) {
	at, err := opener(db)
	if err != nil {
		return nil, err
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(tracing.IDs{}), sdktrace.WithBatcher(nowhere{}),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(1/float64(d.oneIn)))))
	s, err := open(ctx, at, c, tracing.Engine(p))
	if err != nil {
		return nil, errors.Join(err, p.Shutdown(ctx))
	}
	return &tracedSession{s, p}, nil
}

// tracedSession is a session whose provider of spans ends with it.
type tracedSession struct {
	*session
	provider *sdktrace.TracerProvider
}

// Close implements system.Session.
func (t *tracedSession) Close(ctx context.Context) error {
	return errors.Join(t.session.Close(ctx), t.provider.Shutdown(ctx))
}
