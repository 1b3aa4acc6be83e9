package postgres

import (
	"slices"

	"github.com/perdure/perdure/store"
)

// writeCalls inserts, replaces and deletes rows of calls.
func (b *batch) writeCalls(turns []*store.Turn) {
	calls := collect(turns, func(t *store.Turn) []store.Call { return lastOfEach(t.Calls) })
	if n := len(calls); n > 0 {
		b.do(`INSERT INTO perdure.calls (partition, run, number, state, name, queue, attempt, due, data)
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[])
			ON CONFLICT (partition, run, number) DO UPDATE SET state = excluded.state, name = excluded.name, queue = excluded.queue,
				attempt = excluded.attempt, due = excluded.due, data = excluded.data`,
			column(n, func(i int) int64 { return int64(calls[i].turn.Partition) }),
			column(n, func(i int) string { return calls[i].turn.Run }),
			column(n, func(i int) int64 { return calls[i].part.Number }),
			column(n, func(i int) string { return string(calls[i].part.State) }),
			column(n, func(i int) string { return calls[i].part.Name }),
			column(n, func(i int) string { return calls[i].part.Queue }),
			column(n, func(i int) int64 { return int64(calls[i].part.Attempt) }),
			column(n, func(i int) int64 { return calls[i].part.Due }),
			column(n, func(i int) string { return payload(calls[i].part.Data) }))
	}
	closed := collect(turns, func(t *store.Turn) []int64 { return t.Closed })
	if n := len(closed); n > 0 {
		b.do(`DELETE FROM perdure.calls c USING unnest($1::bigint[], $2::text[], $3::bigint[]) AS d (partition, run, number)
			WHERE c.partition = d.partition AND c.run = d.run AND c.number = d.number`,
			column(n, func(i int) int64 { return int64(closed[i].turn.Partition) }),
			column(n, func(i int) string { return closed[i].turn.Run }),
			column(n, func(i int) int64 { return *closed[i].part }))
	}
}

// lastOfEach leaves out calls that a later one of the same number replaces: a
// statement cannot write a row twice.
func lastOfEach(calls []store.Call) []store.Call {
	for i := range calls {
		later := func(c store.Call) bool { return c.Number == calls[i].Number }
		if slices.ContainsFunc(calls[i+1:], later) {
			rest := slices.Concat(calls[:i], calls[i+1:])
			return lastOfEach(rest)
		}
	}
	return calls
}

// writeAttempts adds to the ledger and prunes it.
func (b *batch) writeAttempts(turns []*store.Turn) {
	rest := collect(turns, func(t *store.Turn) []store.Attempt { return t.Attempts })
	for len(rest) > 0 {
		n := rounds(rest)
		b.insertAttempts(rest[:n])
		b.pruneAttempts(rest[:n])
		rest = rest[n:]
	}
}

// rounds answers how many of the attempts can be inserted before any is pruned:
// those up to one that was pruned by an earlier one. That is odd, but what it
// means is clear.
func rounds(attempts []of[store.Attempt]) int {
	type key struct {
		turn   *store.Turn
		call   int64
		number int
	}
	pruned := map[key]bool{}
	for i, a := range attempts {
		if pruned[key{a.turn, a.part.Call, a.part.Number}] {
			return i
		}
		if a.part.Prune > 0 {
			pruned[key{a.turn, a.part.Call, a.part.Prune}] = true
		}
	}
	return len(attempts)
}

func (b *batch) insertAttempts(attempts []of[store.Attempt]) {
	n := len(attempts)
	b.do(`INSERT INTO perdure.attempts (partition, run, call, number, name, outcome, error_type, reason, started, ended, data)
		SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[], $11::text[])
		ON CONFLICT DO NOTHING`,
		column(n, func(i int) int64 { return int64(attempts[i].turn.Partition) }),
		column(n, func(i int) string { return attempts[i].turn.Run }),
		column(n, func(i int) int64 { return attempts[i].part.Call }),
		column(n, func(i int) int64 { return int64(attempts[i].part.Number) }),
		column(n, func(i int) string { return attempts[i].part.Name }),
		column(n, func(i int) string { return attempts[i].part.Outcome }),
		column(n, func(i int) string { return attempts[i].part.ErrorType }),
		column(n, func(i int) string { return attempts[i].part.Reason }),
		column(n, func(i int) int64 { return attempts[i].part.Started }),
		column(n, func(i int) int64 { return attempts[i].part.Ended }),
		column(n, func(i int) string { return payload(attempts[i].part.Data) }))
}

func (b *batch) pruneAttempts(attempts []of[store.Attempt]) {
	attempts = slices.DeleteFunc(slices.Clone(attempts), func(a of[store.Attempt]) bool { return a.part.Prune == 0 })
	if n := len(attempts); n > 0 {
		b.do(`DELETE FROM perdure.attempts a USING unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]) AS d (partition, run, call, number)
			WHERE a.partition = d.partition AND a.run = d.run AND a.call = d.call AND a.number = d.number`,
			column(n, func(i int) int64 { return int64(attempts[i].turn.Partition) }),
			column(n, func(i int) string { return attempts[i].turn.Run }),
			column(n, func(i int) int64 { return attempts[i].part.Call }),
			column(n, func(i int) int64 { return int64(attempts[i].part.Prune) }))
	}
}

// consume deletes messages.
func (b *batch) consume(turns []*store.Turn) {
	consumed := collect(turns, func(t *store.Turn) []int64 { return t.Consumed })
	if n := len(consumed); n > 0 {
		b.do(`DELETE FROM perdure.inbox i USING unnest($1::bigint[], $2::bigint[]) AS d (partition, sequence)
			WHERE i.partition = d.partition AND i.sequence = d.sequence`,
			column(n, func(i int) int64 { return int64(consumed[i].turn.Partition) }),
			column(n, func(i int) int64 { return *consumed[i].part }))
	}
}

// deliver puts messages into the inbox, but those whose key waits there.
func (b *batch) deliver(turns []*store.Turn) {
	messages := collect(turns, func(t *store.Turn) []store.Message { return t.Messages })
	if n := len(messages); n > 0 {
		b.do(`INSERT INTO perdure.inbox (partition, workflow_id, run, key, kind, data, posted)
			SELECT partition, workflow_id, run, key, kind, data, greatest(now, $7)
			FROM perdure.now(), unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) WITH ORDINALITY
				AS m (partition, workflow_id, run, key, kind, data, place)
			ORDER BY place ON CONFLICT DO NOTHING`,
			column(n, func(i int) int64 { return int64(messages[i].part.Partition) }),
			column(n, func(i int) string { return messages[i].part.WorkflowID }),
			column(n, func(i int) string { return messages[i].part.Run }),
			column(n, func(i int) string { return messages[i].part.Key }),
			column(n, func(i int) string { return messages[i].part.Kind }),
			column(n, func(i int) string { return payload(messages[i].part.Data) }),
			b.h.clock.Load())
	}
}
