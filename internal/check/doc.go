// Command check is the one test command of this repository.
//
//	go run ./internal/check
//
// It runs, from a fresh clone with an empty module cache, all that CI runs:
// formatting, links of the documents, module hygiene, vet, the build without a
// C compiler, staticcheck, the build for other systems, the tests under the
// race detector, a few slow ones without it, every benchmark once, and a short
// round of every fuzz target. What it needs besides Go (staticcheck) comes
// pinned through the module proxy. .ci/run calls it and nothing else, so a green
// run here is a green run there.
//
// Steps run in the order of their cost, cheap first, the tests with and without the
// race detector side by side, and the first failure ends the run with its output
// and the command that repeats it; -k goes on instead.
//
//	go run ./internal/check -list               the steps and what each proves
//	go run ./internal/check -only format,vet    some of them
//	go run ./internal/check -fuzztime 1m -fuzztotal 1h -only fuzz
//
// The race detector is the one thing that needs a C compiler. Without one the
// tests still run, and the run says at its end that it proved less.
package main
