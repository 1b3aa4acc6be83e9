// Command poller copies a feed into a table for as long as it is let: a workflow
// without an end that continues as new, so that its history stays short.
package main
