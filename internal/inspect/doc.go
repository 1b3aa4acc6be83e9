// Package inspect reads the committed state: runs, calls, attempts, gates, schedules, nodes
// and audit records, in the types of package view.
//
// An Inspector reads a database and changes nothing, so it works in every process: beside
// engines, without one, and for closed runs. It derives the open calls of a run and their
// states from its history and the rows of its calls (see Snapshot), without running user
// code.
package inspect
