// Command web is a web service whose requests outlive it: expenses are submitted,
// decided by a person and paid, over HTTP, and a deploy in between loses nothing.
package main
