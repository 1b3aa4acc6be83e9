// Package racedetector tells tests whether the race detector watches them. Under it SQLite,
// which is C translated to Go, is eighteen times slower (the check leaves it unwatched), and
// PostgreSQL's client five times, and it finds nothing in either; nor does it find anything
// where one goroutine works. Such tests do less under it, and all without it: the steps engine
// and norace of the check.
package racedetector
