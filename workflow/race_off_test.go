//go:build !race

package workflow_test

const raced = false
