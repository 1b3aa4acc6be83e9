package workflow

// Go runs fn in a coroutine of its own: the deterministic goroutine. fn must use
// the context it is given, which shares wf's scope. Coroutines take turns; one
// runs until it waits. They end with the run: when the workflow's function
// returns, those still waiting are given up.
func Go(wf *Context, fn func(wf *Context)) {
	wf.enter()
	wf.belongs()
	wf.instance.start(wf, fn)
}
