// Package entity names what partitions hold: runs, gates and schedules. It tells the kind of
// an ID, the partition of an entity, and which fields of a start event the row of a run
// repeats.
//
// All of this is part of the format of a database. The names and the placement of
// entities must never change.
package entity
