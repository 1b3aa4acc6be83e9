// Package message writes and reads what stands in the inboxes of runs, gates and
// schedules. A message has a kind, which says how its data is encoded, and a key: of
// two messages with one key in one inbox the store keeps one, so the key says when one
// is as good as both.
//
// Whatever is asked of a run has one form, a core.Control, whether a person, another run
// or a schedule asks, and whether anybody waits for the answer.
//
// Messages outlive the processes that write them. A process may read those of an older
// or a newer version: old.go reads the forms that are not written any more, and what a
// newer version wrote stays in the inbox until a process of that version reads it.
package message
