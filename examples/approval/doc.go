// Command approval asks a person, reminds them, and continues without them when the
// time is up.
package main
