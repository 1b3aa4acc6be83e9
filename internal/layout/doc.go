// Package layout keeps the house in order. It has no code of its own, only
// tests: which package may import which (the table in table_test.go, with a
// reason beside each row and each ban), that the pure core stays pure, that
// every package explains itself in a doc.go, that exported names are
// documented, and that files and functions stay short enough to be read.
//
// A new package needs a row; the test says so, and where.
package layout
