// Package operation is what the command, the API and the dashboard have in common of the
// operations on calls and runs: their names, what they select, and the one way to carry them
// out. How an operation is asked for, and in which words, is each face's own table.
package operation
