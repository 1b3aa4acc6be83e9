// Package suspicion keeps what this node knows of what may kill a process, and makes the marks
// durable that must be on record before suspects run. The rules are those of package suspects.
//
//   - Room holds what the group's log of switches says about code that ends its process whoever
//     runs it: an activity or an inline step by its calls, a workflow by its runs.
//   - Place is one location of this node with the book of the runs whose code is tried there.
//     Place.Try blocks until the code of a run may run.
//
// Calls that are suspects wait in the probation lane of package dispatch; how often a call was
// charged is on record with its run. One mutex guards the room and its places. It comes after
// the engine's, and before that of the slots.
package suspicion
