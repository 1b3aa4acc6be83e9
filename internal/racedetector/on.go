//go:build race

package racedetector

// Enabled says that the race detector is on.
const Enabled = true
