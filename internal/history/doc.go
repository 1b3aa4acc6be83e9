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
// from then on. Every document says which Format it was written in; this
// version reads all formats up to its own.
//
// # Decisions
//
//   - History holds policies as objects. Objects do not change when the notation gets
//     new words.
package history
