// Package entity names what partitions hold: runs, gates and schedules. It says
// which kind an ID is of, in which partition an entity lives, and what the row of a run has
// of its start event.
//
// All of this is part of the format of a database. The names and the placement of
// entities must never change.
package entity
