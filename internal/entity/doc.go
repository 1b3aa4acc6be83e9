// Package entity names what partitions hold: runs, gates and schedules. It says
// which kind an ID is of and in which partition an entity lives.
//
// All of this is part of the format of a database. The names and the placement of
// entities must never change.
package entity
