// Package check finds what is wrong with a flow file before it runs: actions and
// names that do not exist, calls that do not fit, code that is never reached,
// policies that cannot do what they say. It reports everything in one pass, each fault
// with its place and what to do about it.
//
// A reported fault fails whenever the program reaches it, or is never reached; package
// check does not guess about values.
package check
