// Package report holds what a benchmark run measured, and writes it: as tables
// for people, as JSON for programs, and into the document between its markers.
package report
