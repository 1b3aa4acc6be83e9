// Package goldenfile holds what a test finds out to a text file beside it, which the
// flag -update rewrites:
//
//	go test ./internal/flow/check -run Wrong -update
//
// Read the difference before committing it.
package goldenfile
