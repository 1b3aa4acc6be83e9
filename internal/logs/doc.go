// Package logs writes the log records for operators with log/slog: one method of [Log] for
// each event.
//
// The name, the level and the keys of an event are in one table, [Events], from which
// docs/logs.md is made. Programs may rely on them. A method takes the values of the keys in
// their order, so an event cannot be written with other keys.
//
// At most twenty records of an event are written in ten seconds. A record of the event "more"
// then says how many were suppressed. Records below Info are not limited.
package logs
