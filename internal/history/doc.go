// Package history holds what a run remembers: its events, their encoding, and errors as
// values that survive the encoding.
//
// A run's history is a sequence of turns. A turn has a number, the engine time at which it
// was taken, and events. Its first events are inputs, which are things that happened to the
// run: an attempt ended for good, a timer fired, a signal came. The rest are commands, which
// the code then issued: schedule an activity, start a timer, complete. To replay a run is to
// apply the inputs of each turn, run the code, and compare its commands with the recorded
// ones.
//
// Events are JSON text, one document per turn, readable in the database's own shell. Values
// of users are encoded once, into a Payload, and carried as bytes from then on. Every
// document names its format (Format). In the database, turns abbreviate what nearly all of
// them contain (short.go), and start events omit what columns hold (start.go); a recording,
// which leaves the database, does neither. Documents in the database end with a checksum. One
// that cannot be read, because its bytes have changed or a newer version wrote it, yields a
// *DamageError and never something other than what was written.
//
// # Decisions
//
//   - A program reads the format of every release before it. The number rises when an older
//     program could not read a document; that one then refuses it, and says so. A field that
//     an older program may overlook does not raise it.
//   - A checksum is the last field of its document, which therefore stays JSON.
//   - The checksum of a turn covers the run, the number and the time of the turn. A run that
//     was reset or forked has copies of turns, made by the database. They are checked as
//     turns of the run that wrote them, which Start.Author returns.
//   - A recording carries no checksums. It is a file that people indent and edit.
//   - The checksum of a start event covers the columns beside it that never change.
//   - A database keeps turns abbreviated but not compressed: common names have few letters,
//     and times count from that of the turn. That halves what a step writes, needs no
//     dictionary to read, costs less time than the long names did, and is still text.
//   - Other columns (status, wake, states of calls) are not covered. A database with page
//     checksums covers them, and also the loss of the last turns of a history.
//   - History holds policies as objects, which do not change when the notation gets new
//     words.
package history
