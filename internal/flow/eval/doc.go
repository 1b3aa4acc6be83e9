// Package eval runs flow files. What a program asks of the world goes through
// [Effects]; everything else depends on the program and its input alone, so the
// same evaluator is the durable interpreter of package flow, which replays, and the
// plain one that tests hold it to.
//
// # Values
//
// None, True and False, whole numbers of 64 bits that stay exact (an operation that
// leaves their range is an error), floating-point numbers (never infinite, never
// NaN), texts, lists, dictionaries with texts as keys in the order in which they
// were written, and the errors that except binds. Values never change: what changes
// is which value a name has. In calls, loops and parallel branches nothing is
// shared, so nothing depends on who comes first.
//
// # Bounds
//
// A turn has a budget of [MaxSteps] steps, calls nest at most [MaxCalls] deep, and
// a value has at most [MaxValue] bytes. Running out of steps ends the run and
// cannot be caught: a loop could catch it for ever.
package eval
