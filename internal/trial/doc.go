// Package trial finds the run whose code ends its process: by endless recursion, by
// using up the memory, by os.Exit. Nothing can be written when that happens, so it is
// written before: a Book names the runs whose code runs now. The next owner of the
// partition reads who was named when the process died.
//
// That costs a write for a turn, so books are kept only while processes die one after
// the other (Suspected). Most runs are named in groups. Those that were named at a death
// are suspects, and are tried in smaller groups, apart from the others and from attempts
// that are suspected themselves, until one is named alone. So the run is found after few deaths, as by halving, but with fewer,
// because a death costs seconds and a write milliseconds. A run that was named alone at
// Limit deaths, and did not go on in between, is poisoned. One death is not enough: a
// process may be killed from outside at any moment.
//
// The package is pure: the engine stores the book and asks it who may run.
package trial
