// Package trial finds the run whose code crashes its process: by endless recursion, by
// exhausting the memory, by os.Exit. Nothing can be written when that happens, so it is
// written before: a Book names the runs whose code runs now. The next owner of the partition
// reads which runs were named when the process died.
//
// That costs a write per turn, so books are kept only while processes die one after the other
// (Suspected). Most runs are named in groups. Runs that were named at a death are suspects.
// They are tried in smaller groups, apart from the other runs and from attempts that are
// suspects themselves, until one is named alone. This finds the run after few deaths, fewer
// than halving would need: groups are small because a death costs seconds and a write
// milliseconds. A run that was named alone at Limit deaths, and did not go on in between, is
// poisoned. One death is not enough, because a process may be killed from outside at any
// moment. Workflows all of whose runs end their process are found as a whole; see Accusation.
//
// The package is pure: the engine stores the book and asks it who may run.
package trial
