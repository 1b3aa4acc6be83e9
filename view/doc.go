// Package view has the structs that perdure returns: runs and their open calls, attempts,
// gates, schedules, nodes, statistics and audit records, and the filters that select
// them. All types are plain data. Their JSON names are stable: the command line writes
// them with -o json.
//
// A view is a copy of committed state at a moment. It does not change, belongs to the
// caller and may be kept. Times are UTC; a nil time means that there is none. A duration
// in JSON is a string such as "1h30m0s", which time.ParseDuration reads.
//
// The text fields that hold a state (Run.Status, Call.State) have one of the constants of
// this package. A newer version of perdure may return others.
package view
