// Package cli is the command perdure: its subcommands, its flags, what it prints
// and how it ends.
//
// Every command is a function that reads through the public packages, as any
// program could, and hands what it found to a printer: as a table for people, or
// as JSON with stable names for programs. What goes wrong becomes an [Error] that
// says what was wrong and what to do, and that has an exit code.
package cli
