// Package record translates rows, turns and states between the types of the store and those of
// the core: Turn and StandingTurn say what a turn writes, Decode what a run had recorded.
package record
