// Package system says what the workloads ask of a system under test.
//
// Every system runs chains: workflows of steps one after the other. What else it
// can do it shows by implementing more of the small interfaces; a workload takes
// the systems that have the one it needs. The bodies of the steps come from the
// workload, so that all systems do the same work.
package system
