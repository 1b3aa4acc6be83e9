package durable

import (
	"context"
	"errors"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perdure/perdure/bench/internal/system"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/telemetry/tracing"
)

// nowhere is an exporter that drops all spans.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }

// traced is a session whose provider of spans ends with it.
type traced struct {
	*session
	provider *sdktrace.TracerProvider
}

func openTraced(ctx context.Context, opener store.Opener, c system.Config, oneIn int) (system.Session, error) {
	p := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(tracing.IDs{}), sdktrace.WithBatcher(nowhere{}),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(1/float64(oneIn)))))
	s, err := open(ctx, opener, c, tracing.Engine(p))
	if err != nil {
		return nil, errors.Join(err, p.Shutdown(ctx))
	}
	return &traced{s, p}, nil
}

// Close implements system.Session.
func (t *traced) Close(ctx context.Context) error {
	return errors.Join(t.session.Close(ctx), t.provider.Shutdown(ctx))
}
