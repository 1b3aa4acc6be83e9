// Package workload holds what is measured, one file a workload. A workload runs
// on any system that can do what it asks for, measures, and checks that the work
// was done: a result that is wrong or missing is an error and no figure.
package workload
