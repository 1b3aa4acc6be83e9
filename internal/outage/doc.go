// Package outage keeps what is wrong with one use of the database, and has the log say
// when an outage begins and ends. A database may fail in one use and not in another: a
// full disk can still be read.
package outage
