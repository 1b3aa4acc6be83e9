package tracing_test

import (
	"context"
	"fmt"
	"log"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/telemetry/tracing"
	"github.com/perdure/perdure/workflow"
)

// In production the exporter is one such as otlptracegrpc, with sdktrace.WithBatcher.
func Example() {
	ctx := context.Background()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithIDGenerator(tracing.IDs{}), sdk.WithSyncer(exporter))

	charge := activity.New("charge", func(context.Context, int) (string, error) { return "paid", nil })
	pay := workflow.New("pay", func(wf *workflow.Context, cents int) (string, error) { return workflow.Call(wf, charge, cents) })

	eng, err := perdure.Open(ctx, memory.New(), perdure.Register(pay, charge), tracing.Engine(provider))
	if err != nil {
		log.Fatal(err)
	}
	if err := eng.Start(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := perdure.Run(ctx, eng, pay, "order-7", 1200); err != nil {
		log.Fatal(err)
	}
	if err := eng.Close(); err != nil {
		log.Fatal(err)
	}
	spans := exporter.GetSpans()
	for _, s := range spans {
		for _, above := range spans {
			if s.Parent.SpanID() == above.SpanContext.SpanID() {
				fmt.Println(s.Name, "is below", above.Name)
			}
		}
	}
	// Unordered output:
	// perdure.run pay is below perdure.start pay
	// perdure.call charge is below perdure.run pay
	// perdure.attempt charge is below perdure.call charge
}
