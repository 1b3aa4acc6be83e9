// Package registry holds what a process has registered: workflows and activities by name, what is
// wrong with them, what their attempts run, and what surrounds attempts.
package registry
