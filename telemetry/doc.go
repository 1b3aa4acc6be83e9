// Package telemetry measures engines, for Prometheus and other scrapers of its format.
//
//	metrics := telemetry.New()
//	eng, err := perdure.Open(ctx, db, metrics.Engine(), perdure.Register(...))
//	...
//	http.Handle("/metrics", metrics.Handler(eng))
//
// What an engine does is counted in memory, by turns that are durable: an attempt that was
// not recorded is not counted. What waits, and since when, is read from the database when
// somebody scrapes, by ops.Status, at most every [Every]: so it is also known of runs that
// no node serves, and a process that only looks (perdure dashboard) can tell it. All
// processes of a group tell the same of that; alert on the maximum.
//
// Programs that do not import this package link nothing of it. docs/telemetry.md lists the
// metrics, and this directory has a dashboard for Grafana and rules for alerts.
package telemetry
