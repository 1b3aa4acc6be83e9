// Package report writes the log records of durable turns: what failed and what follows from it, and
// what changed of a gate.
package report
