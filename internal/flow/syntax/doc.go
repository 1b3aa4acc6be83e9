// Package syntax reads and writes flow files: workflows in text.
//
//	fn main(input: [day], output: [report]):
//	    rows = @warehouse.export(day=day) [NetworkError -> retry: 5, backoff: 2m] [timeout: 10m]
//	    report = @mail.send(to="ops@example.com", rows=rows) [retry: 3, backoff: 60]
//	    return report
//
// [Parse] makes a tree of a text and reports everything that is wrong with it, not
// the first fault only; [Format] makes the canonical text of a tree and keeps its
// comments. What a tree means is the business of others: package check looks for
// programs that cannot work, package eval runs them.
//
// Blocks are indented by four blanks a level. Policies are in the notation of
// package retry, which reads them; this package knows only where they stand.
//
// # Bounds
//
// A text has at most [MaxSize] bytes, nests at most [MaxNesting] deep and has at
// most [MaxOperators] operators in one statement and [MaxNames] names or arguments
// in a row. Anything beyond is a fault and not a crash: parsing and printing take
// time in proportion to the text, and after [MaxFaults] faults nothing more is
// looked at.
package syntax
