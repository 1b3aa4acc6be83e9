package racedetector

import "testing"

// Skip skips a test in which the race detector has nothing to find, if it is on.
func Skip(t testing.TB) {
	t.Helper()
	if Enabled {
		t.Skip("This runs without the race detector only, which has nothing to find here.")
	}
}
