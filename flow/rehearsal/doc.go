// Package rehearsal runs flow files without an engine: in virtual time, with mocked
// actions. A year of polling takes milliseconds, nothing goes out, nothing is stored. What
// a policy does with a failure is decided by [retry.Decide], as it is by the engine, with
// the middle of every jitter.
//
// A [Case] says what actions return and what is expected. perdure flow test holds files to
// the cases beside them, and perdure flow run --fast-forward shows one of them.
//
// Gates do not count here: every attempt starts when it is due.
package rehearsal
