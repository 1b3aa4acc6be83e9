// Package kill runs an example as a process of its own and ends it with kill -9, so
// that its test can see what survives.
//
// The process is the test binary itself: Main, called from TestMain, makes it the
// example when a test has started it with Start.
package kill
