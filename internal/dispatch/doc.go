// Package dispatch decides who may start on this node, and when. It holds who waits and for
// what, and knows neither what a run is nor what a body does.
//
//   - Slots limits how many attempts run at a time. A Slot is permission for one attempt. The keys
//     of runs take turns at a free one (package fair). Calls of a key wait by priority; of equal
//     priority, those that were lost with their process go first. Suspects (calls that were lost
//     so repeatedly) run in the probation lane, in groups that package suspects chooses.
//   - Seats are the slots of one run apart from those of its running attempts: reserved for, or
//     only promised to, calls whose attempts are being recorded, and kept from attempts that have
//     ended. Seats.Admit is where a call gets a slot, a promise of one, a place in a queue, or a
//     refusal that ends when its reason does. Seats.Begin redeems a promise.
//   - Line has the started runs that wait for a slot, in memory and in the database.
//   - Due knows when runs want a step next.
//   - Unserved are the runs whose activities this node lacks.
//   - Recovery holds back what may start while interrupted runs are resumed.
//
// # Who takes a slot, and who gives it back
//
// A slot has one owner at a time: the seats of the run for which it was taken, then the attempt.
// A free slot goes to the first call in the queue at once, into the seats of its run: what frees a
// slot returns that Grant, and its caller tells the run. So nothing here calls back (but the timer
// of Recovery.KeepBack), a grant can be delivered under the locks of its owner, and the lock of
// this package comes after them. Freeing a slot twice is harmless.
//
// A slot whose attempt has ended may stay with its run for the next call, as a promise, within
// limits that bound the wait of every other call.
//
// Priority is strict within a key. QueueTimeout bounds a wait; a gate bounds what a class of calls takes.
package dispatch
