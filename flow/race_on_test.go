//go:build race

package flow_test

const raceDetector = true
