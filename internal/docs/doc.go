// Package docs keeps the pages in docs true. What a page says that code knows
// better is made from the code: a table stands between two marks,
//
//	<!-- retries:fields -->
//	...
//	<!-- /retries:fields -->
//
// and a test compares it to what [Section] is given, or writes it with -update.
// The text around the marks is written by people.
//
// The tests of this package do the rest: every fenced block of Go in docs and in
// the README compiles. A block that needs things that are not worth showing finds
// them in a comment of the page, which no reader sees:
//
//	<!-- go
//	type Order struct{ ID string }
//	func charge(ctx context.Context, o Order) (string, error) { return "", nil }
//	-->
//
// Such a comment holds declarations, and all blocks of its page can use them, as
// they can use what blocks before them declare. A block is a file, or
// declarations, or statements of a function that has a ctx, a wf
// (*workflow.Context) and an eng (*perdure.Engine). Packages are imported as they
// are used.
package docs
