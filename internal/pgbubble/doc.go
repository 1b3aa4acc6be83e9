// Package pgbubble runs store/postgres in bubbles of testing/synctest, thousands
// of them one after the other.
//
//	home := pgbubble.Borrow(t, 16) // outside of the bubble; 16 partitions
//	synctest.Test(t, func(t *testing.T) {
//		db := home.Empty(func() int64 { return time.Now().UnixNano() })
//		defer db.Close()
//		s, err := db.Open(t.Context())
//		...
//
// The store, its statements and its server are the real ones. Three things are
// not as in production:
//
//   - Time. The server's clock is real, so the function of the schema by which
//     statements ask for the time is replaced by one that answers what the test's
//     clock said when the verb began. Time passes in a bubble only when everything
//     in it waits, which nobody does who waits for a server: so all of a verb
//     happens at one moment anyway.
//   - News. While a connection listens, time in its bubble stands still, and
//     looking many times a second takes too long when months pass. Listen hears of
//     what is done through the same Database.
//   - Connections. They belong to a bubble, so each Database makes its own, few
//     and shared by all who open it: a new one costs more than what most tests do
//     with it. For the same reason a Database is a schema that others have used,
//     without their rows.
package pgbubble
