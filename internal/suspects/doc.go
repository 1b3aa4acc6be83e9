// Package suspects finds the call that crashes its process among many that merely ran in the
// same process.
//
// Most processes die of something outside: a deployment, lack of memory, a power cut. So the
// calls that were lost with a process start again together. A call that is lost again within
// Window, while it runs, is a suspect. Suspects run in groups:
//
//   - Suspects that were lost together run in two groups, one after the other.
//   - When the process dies again, the group that ran is halved. The other suspects keep the
//     size of their group, because nothing was learned about them.
//   - A suspect that ends, however it ends, or runs for long enough, is no longer a suspect.
//   - A suspect that ran alone when its process died is charged with the death. So no call
//     is ever charged with what another call of its group did.
//
// Among n suspects the one that crashes its process is alone after at most log2(n) deaths, and
// each further death is charged to it. Suspects that were charged least often go first, so a
// process that is killed repeatedly from outside charges all of them evenly.
//
// Where all calls of an activity end their process, none of this ends: each call would cost
// deaths of its own. So the activity is a suspect as well (Shared). Of a large group that died,
// one call after the other is tried alone first; if as many of them die as a single call may,
// and none survives in between, the activity is to be held as a whole. Meanwhile the caller
// lets none of its other calls run.
//
// The package is pure. The caller keeps what must be known of a call across deaths, a Suspect,
// on record.
package suspects
