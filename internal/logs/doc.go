// Package logs writes what an operator should know, with log/slog: one method of [Log] for
// each event.
//
// The name, the level and the keys of an event are in one table, [Events], from which
// docs/logs.md is made; a program may rely on them. A method takes the values of the keys
// in their order, so no event can be written with other keys, or at another place.
//
// Of one event at most twenty records are written in ten seconds. A record of the event
// "more" then says how many were left out. Records below Info are not counted.
package logs
