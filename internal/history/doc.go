// Package history is what a run remembers: its events, the bytes they become,
// and errors as values that survive that.
//
// A run's history is a sequence of turns. A turn has a number, the engine time
// at which it was taken, and events. The first events of a turn are inputs,
// things that happened to the run: an attempt ended for good, a timer fired, a
// signal came. The rest are commands, things its code then asked for: schedule
// an activity, start a timer, complete. Replaying a run means to apply the
// inputs of each turn, let the code run, and compare what it asks for with the
// commands on record.
//
// Events are text JSON, one document a turn, readable in the database's own
// shell. Values of users are encoded once, into a Payload, and carried as bytes
// from then on. Every document says which format it was written in; this
// version reads all formats up to its own. In the database turns and start events are
// in format 2 (Stored), which says what nearly all of them say in short (short.go) and
// what columns say not again (start.go); what leaves the database is in format 1 (Format). What it cannot read, because bytes have
// changed or a newer version has written them, is a *DamageError, never something else
// than was written: documents end with a checksum.
//
// # Decisions
//
//   - A checksum is the last field of its document, so documents stay JSON, older
//     programs pass over it, and a document without one is an older one. The format
//     number stays: it rises when an older program could not read a document.
//   - The checksum of a turn covers the run, the number and the time of the turn. A run
//     that was reset or forked has copies of turns, made by the database: they are
//     checked as turns of the run that wrote them, which Start.Author knows.
//   - A recording carries no checksums. It is a file that people indent and edit.
//   - The checksum of a start event covers the columns beside it that never change.
//   - A database keeps turns in short and not compressed: what is common has names of few
//     letters, times count from that of the turn. That halves what a step writes, needs no
//     dictionary to be read, costs less time than the long names did, and is text still.
//   - Other columns are not covered (status, wake, states of calls): a database with checksums
//     of its pages covers them, as it does the loss of the last turns of a history.
//   - History holds policies as objects. Objects do not change when the notation gets
//     new words.
package history
