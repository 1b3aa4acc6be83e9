// Package determinism finds what workflow code must not do.
//
// A workflow is replayed from its history, on another machine perhaps, and must
// then ask for the same things in the same order. So its code must not read the
// clock, draw random numbers, start goroutines, use Go's channels, depend on the
// order of a map, do I/O, or look at what others change. The [Analyzer] reports
// each of these at its place, even if it happens in a function that the workflow
// calls, through any number of calls within the module, and says what to use
// instead.
//
//	go vet -vettool=$(which perdurevet) ./...
//
// # What is workflow code
//
// Every function whose first parameter is a *workflow.Context is, and so are the
// function literals in it, but for those that run outside of workflow code: the
// closures of workflow.Do, DoAsync and SideEffect, and any literal whose first
// parameter is a context.Context.
//
// # What it does not see
//
// Calls through interfaces and function values, and what packages outside the
// module do, but for those of the standard library and a few others that stand in
// a table. It prefers to miss something to a false alarm: what it misses, the
// replay finds, and the run is parked with the first difference.
//
// # Where it is wrong
//
// A comment on the line or the line before, with a reason, silences it:
//
//	//perdure:deterministic the map has one key
package determinism
