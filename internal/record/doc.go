// Package record translates between the words of the store and those of the core:
// rows, turns and states as a database keeps them, and as a machine is loaded from
// them. It decides nothing.
package record
