// Package message writes and reads what stands in the inboxes of runs, gates and
// schedules. A message has a kind, which says how its data is encoded, and a key: of
// two messages with one key in one inbox the store keeps one, so the key says when one
// is as good as both.
//
// Messages outlive the processes that write them. A process may read those of an older
// or a newer version.
package message
