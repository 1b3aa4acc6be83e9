// Package replay runs the code of a workflow against a recorded history and reports how user
// code can fail meanwhile: it panics, does not yield, or asks for something other than what is
// on record. A Guard does that under a time limit, and asks code under the same. It needs no database
// and no engine.
package replay
