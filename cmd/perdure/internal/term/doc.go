// Package term writes for people: tables, times, colours, and a panel that is redrawn
// in place. It knows what the terminal can do; what is not a terminal gets plain text.
//
// [Sprintf] and [Table] escape texts that a terminal would obey.
package term
