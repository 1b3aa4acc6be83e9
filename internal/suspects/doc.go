// Package suspects finds the call that ends its process among many that only stood
// beside it.
//
// Most processes die of something outside: a deployment, the lack of memory, a power cut.
// So what a process took along starts again together. A call that is lost again within
// Window, while it ran, is a suspect. Suspects run in groups:
//
//   - The suspects that were lost together run in two groups, one after the other.
//   - When the process dies again, the group that ran is halved. The other suspects have
//     learned nothing and keep the size of their group.
//   - A suspect that ends, however it ends, or runs for long enough, is none any more.
//   - A suspect that ran alone when its process died is charged with the death. So no call
//     is ever charged with what another one of its group did.
//
// Among n suspects the one that ends its process is alone after log2(n) deaths at most,
// and each further one is charged to it. Those that were charged least often go first: a
// process that is killed again and again from outside charges all of them evenly.
//
// The package is pure. What it has to know of a call across deaths is its Suspect, which
// its caller keeps on record.
package suspects
