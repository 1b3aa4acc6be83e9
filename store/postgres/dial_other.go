//go:build !linux

package postgres

import "syscall"

// limitUnacknowledged has no counterpart here; the system's own limit holds.
func limitUnacknowledged(string, string, syscall.RawConn) error { return nil }
