// Package readme does what the README says, as a stranger would: in the checkout and a module
// of his own, with an empty home, on a machine that has Go and a shell and none of the
// programs that other tests use. With PERDURE_NIGHTLY=1 the checkout is a copy of its own, the
// caches of modules and builds are empty as well, and `make quick` is run in that place. Its
// test runs the fenced blocks of the page in their order, the first in the checkout:
//
//   - a block of sh is run, in one shell, whose directory and variables last from block
//     to block;
//   - a block of Go that is a program, or of flow, is written to the file that the
//     paragraph before it names;
//   - a block without a language is the output that is expected of the block of sh before
//     it, where figures and times may differ.
//
// A block that another test proves, or that only explains, stands after a comment that
// says so:
//
//	<!-- proved by TestName -->
//	<!-- not run: why -->
//
// A block of which neither holds fails the test, so that nothing on the page goes unproved
// by oversight. Blocks of Go that are not programs are compiled by internal/docs.
//
// The files with which docs/moving.md deploys a program are read strictly (files_test.go).
package readme
