// Package place makes databases, fresh ones, and reads what they cost: bytes
// written, transactions, CPU time of a server.
package place
