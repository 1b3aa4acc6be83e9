// Package outage keeps the last error of one use of the database and logs when an outage
// begins and ends. A database may fail in one use and not in another: a full disk can still be
// read.
package outage
