// Package measure is the one table of metrics, and where their values come from: what an
// engine tells its observer, how it stands in memory, and what is read from the database.
// Packages telemetry and telemetry/meter are its two faces: Prometheus and OpenTelemetry.
package measure
