// Package meter reports the metrics of engines to OpenTelemetry. It has the metrics of
// package telemetry, counted by the same code.
//
//	metrics, err := meter.New(otel.GetMeterProvider())
//	...
//	eng, err := perdure.Open(ctx, db, metrics.Engine(), perdure.Register(...))
//	...
//	err = metrics.Watch(eng)
//	...
//	defer metrics.Close()
//
// It links only the API of OpenTelemetry: the program supplies the SDK, exporter, views
// and resource as a metric.MeterProvider.
//
// Names are those of Prometheus with dots, without the suffixes that its exporter adds:
// perdure.commit with unit s is perdure_commit_seconds again behind a collector. So the
// dashboard and the alerts of package telemetry fit what a collector hands to Prometheus.
// Label error_type is attribute error.type.
//
// Counters and gauges are observable: they cost nothing until a reader collects. Counts begin
// with New; histograms are recorded as things happen. Metrics of the group are read from the
// database when a reader collects, at most every telemetry.Every.
package meter
