package flow

import "github.com/perdure/perdure/internal/flow/syntax"

// TreeOf returns a file as a tree.
func TreeOf(f *File) *syntax.File { return f.tree }

// ContinueAfter sets with how many events of history runs continue as new, and returns
// what sets it back.
func ContinueAfter(events int) (back func()) {
	was := continueAfter
	continueAfter = events
	return func() { continueAfter = was }
}
