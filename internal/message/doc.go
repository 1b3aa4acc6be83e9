// Package message encodes and decodes the messages in the inboxes of runs, gates and
// schedules. A message has a kind, which says how its data is encoded, and a key. Of two
// messages with one key in one inbox the store keeps one, so two messages get the same key
// only if receiving one has the effect of receiving both.
//
// A request to a run always has one form, a core.Control, whether a person, another run or a
// schedule sends it, and whether or not the sender waits for a reply.
//
// Messages outlive the processes that write them. A program reads the messages of every
// release before it. A message of a newer version stays in the inbox until a process of that
// version reads it.
package message
