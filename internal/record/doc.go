// Package record translates rows, turns and states between the types of the store and those of
// the core. It makes no decisions.
package record
