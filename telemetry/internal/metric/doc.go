// Package metric holds counters and histograms, and writes them in Prometheus' text format.
package metric
