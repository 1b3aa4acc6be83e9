// Package replay runs the code of a workflow against a recorded history, and says how
// code of users can fail while it runs: it panics, does not yield, or asks for something
// else than what is on record. It needs no database and no engine.
package replay
