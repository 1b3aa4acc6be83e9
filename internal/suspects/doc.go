// Package suspects finds what ends its process among much that merely ran in the same process:
// a call, a run whose code recurses without end, uses up the memory or exits, or the code that
// many of them share. Nothing can be written when a process ends, so what must be known of a
// suspect is on record before it runs.
//
// Most processes die of something outside: a deployment, lack of memory, a power cut. So one
// death makes no suspects. What runs when processes die one after the other is suspected, and:
//
//   - Suspects run in groups, apart from everything else (Next). When the process dies again,
//     the group that ran is made smaller; nothing was learned about the others.
//   - One that goes on, however, or runs for long enough, is a suspect no longer.
//   - One that ran alone when its process died is charged with the death, so none is ever
//     charged with what another one did. With enough deaths in a row it is not tried again.
//     One is not enough, because a process may be killed from outside at any moment. For that
//     reason who was charged more often is tried later.
//
// # Calls
//
// A call that is lost again within Window, while it runs, is a suspect (Suspect). Its group is
// on record with its run, and is half as large each time: among n of them the one that ends its
// process is alone after at most log2(n) deaths, and each further death is charged to it.
//
// # Runs
//
// Whose code runs is not on record, because that would cost a write per turn. So a Book of
// marks, which names these runs, is kept only while the owners of a partition die one after the
// other. Its groups are small from the start, because a death costs seconds and a write
// milliseconds: a run is found after fewer deaths than halving would need.
//
// # Code
//
// Where all calls of an activity or all runs of a workflow end their process, none of this ends:
// each would cost deaths of its own. So the code is a suspect as well (Shared). While it is, its
// calls or runs are tried one at a time; if as many of them die alone as a single one may, and
// none survives in between, the code is to be held as a whole.
//
// The package is pure. Package suspicion keeps what is on record and asks it what may run.
package suspects
