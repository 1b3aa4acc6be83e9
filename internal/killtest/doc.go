// Package killtest kills real worker processes with kill -9 and looks whether
// anything was lost, doubled or blamed on the wrong one. It holds tests only.
//
// The test process is the parent. It owns the book of effects of package witness,
// which every body of an activity writes to. It is also a client: it starts runs,
// sends signals, cancels and waits for results through an engine of its own on
// the same SQLite file, which never becomes a worker.
//
// The worker is the same test binary, started again after every death (package torture).
// It registers the workflows of package witness and starts.
//
//	go test ./internal/killtest                  50 kills, another seed each time
//	go test ./internal/killtest -kills 1000      more of them
//	go test ./internal/killtest -seed 17         the moments of an earlier run
//
// A seed fixes when the parent kills and what it starts; what the worker happens
// to do at that moment is up to the machine.
package killtest
