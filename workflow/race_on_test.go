//go:build race

package workflow_test

const raced = true // the race detector is on: large tests take less
