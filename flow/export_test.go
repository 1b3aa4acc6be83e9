package flow

// ContinueAfter sets with how many events of history runs continue as new, and returns
// what sets it back.
func ContinueAfter(events int) (back func()) {
	was := continueAfter
	continueAfter = events
	return func() { continueAfter = was }
}
