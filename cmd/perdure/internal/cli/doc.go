// Package cli implements the command perdure: its subcommands, flags, output and exit
// codes.
//
// A command reads through the public packages, as any program could, and prints a table for
// people or JSON with stable names for programs. Operations on workflows are rows of a
// table with a common runner (commands.go, operate.go). An [Error] says what is wrong and
// what to do, and has an exit code.
//
// All output goes through format.go, which escapes what a terminal would interpret: IDs,
// names, errors and payloads may come from anywhere.
package cli
