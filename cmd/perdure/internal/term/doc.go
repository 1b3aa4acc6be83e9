// Package term is how the command meets people: what it knows about the terminal
// it writes to, and how it writes tables, times and texts of others there.
//
// Nothing in it asks a question or moves the cursor without being told to. What
// is not a terminal gets plain text.
package term
