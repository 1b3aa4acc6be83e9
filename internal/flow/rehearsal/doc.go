// Package rehearsal runs flow files without an engine: in virtual time, with mocked
// actions. A year of polling takes milliseconds; no requests are sent and nothing is
// stored. [retry.Decide] judges failures, as in the engine, with the middle of every
// jitter.
//
// A [Case] says what actions return and what is expected. perdure flow test checks files
// against the cases beside them, and perdure flow run --fast-forward shows one of them.
//
// Gates are ignored: every attempt starts when it is due.
package rehearsal
