package meter_test

import (
	"context"
	"fmt"
	"log"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/telemetry/meter"
)

// In production the reader is sdk.NewPeriodicReader with an exporter, such as otlpmetricgrpc.
func Example() {
	ctx := context.Background()
	reader := sdk.NewManualReader()
	metrics, err := meter.New(sdk.NewMeterProvider(sdk.WithReader(reader)))
	if err != nil {
		log.Fatal(err)
	}
	eng, err := perdure.Open(ctx, memory.New(), metrics.Engine(), perdure.Concurrency(20))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	if err := metrics.Watch(eng); err != nil {
		log.Fatal(err)
	}
	defer metrics.Close()

	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		log.Fatal(err)
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		if gauge, is := m.Data.(metricdata.Gauge[float64]); is && m.Name == "perdure.slots" {
			fmt.Println(m.Name, gauge.DataPoints[0].Value)
		}
	}
	// Output: perdure.slots 20
}
