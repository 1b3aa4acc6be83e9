// Command approval asks a person, reminds them, and goes on without them when the
// time is up.
package main
