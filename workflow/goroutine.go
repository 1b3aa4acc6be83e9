package workflow

// Go runs fn in a new coroutine, the deterministic form of a goroutine. fn must use the
// context it is given, which shares wf's scope. One coroutine runs at a time, until it
// waits. When the workflow's function returns, coroutines that still wait are abandoned.
func Go(wf *Context, fn func(wf *Context)) {
	wf.enter()
	wf.belongs()
	wf.instance.start(wf, fn)
}
