// Package roomtest puts runs, gates and schedules into a store without an engine, for tests of
// the rooms that read and ask (internal/inspect, internal/request).
//
// A Scene is the smallest owner of a database. Its turns are those of the real core, made from
// real inputs and written as the engine writes them; what it lacks is everything that makes an
// engine: goroutines, attempts, slots, group commit, leases. An attempt ends when the test says
// how it ended, time passes when the test says so, and messages are read when Serve is called.
// A test that needs more than that is a test of the engine.
package roomtest
