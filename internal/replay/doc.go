// Package replay runs the code of a workflow against a recorded history, without a database or an
// engine, and reports how it can fail: it panics, does not yield, or asks for something other than
// what is on record. A Guard loads and asks code under a time limit.
package replay
