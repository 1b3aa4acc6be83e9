//go:build race

package storm_test

const underRace = true
