// Package inspect shows what is committed: runs, calls, attempts, gates, schedules,
// nodes and audit records, as package view has them.
//
// An Inspector reads a database and changes nothing, so it works in every process:
// beside engines, without one, and for closed runs. The open calls of a run and their
// states come from its history and from the rows of its calls; see Snapshot. No user
// code runs for that.
package inspect
