// Command import reads a CSV file into a table, all rows concurrently: each row has its own
// retries, and one that cannot be imported stops no other.
package main
