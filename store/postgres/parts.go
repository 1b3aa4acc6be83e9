package postgres

import (
	"github.com/perdure/perdure/store"
)

var intoCalls = insertion("calls", "run, number, first, state, name, queue, attempt, due, data", "bytea, bigint, bigint, text, text, text, bigint, bigint, text",
	`ON CONFLICT (partition, run, number) DO UPDATE SET first = excluded.first, state = excluded.state, name = excluded.name, queue = excluded.queue,
				attempt = excluded.attempt, due = excluded.due, data = excluded.data`)

var deleteCalls = forms(`DELETE FROM perdure.calls c USING unnest($1::bigint[], $2::bytea[], $3::bigint[]) AS d (partition, run, number)
			WHERE c.partition =@ d.partition AND c.run = d.run AND c.number = d.number`)

// writeCalls inserts, replaces and deletes rows of calls.
func (b *batch) writeCalls(turns []*store.Turn) {
	calls := collect(turns, func(t *store.Turn) []store.Call { return lastOfEach(t.Calls) })
	if n := len(calls); n > 0 {
		b.put(intoCalls,
			column(n, func(i int) int64 { return int64(calls[i].turn.Partition) }),
			runColumn(n, func(i int) string { return calls[i].turn.Run }),
			column(n, func(i int) int64 { return calls[i].part.Number }),
			column(n, func(i int) int64 { return calls[i].part.First }),
			column(n, func(i int) string { return string(calls[i].part.State) }),
			column(n, func(i int) string { return calls[i].part.Name }),
			column(n, func(i int) string { return calls[i].part.Queue }),
			column(n, func(i int) int64 { return int64(calls[i].part.Attempt) }),
			column(n, func(i int) int64 { return calls[i].part.Due }),
			column(n, func(i int) string { return payload(calls[i].part.Data) }))
	}
	closed := collect(turns, func(t *store.Turn) []int64 { return t.Closed })
	if n := len(closed); n > 0 {
		b.put(deleteCalls,
			column(n, func(i int) int64 { return int64(closed[i].turn.Partition) }),
			runColumn(n, func(i int) string { return closed[i].turn.Run }),
			column(n, func(i int) int64 { return *closed[i].part }))
	}
}

// lastOfEach omits calls that a later one of the same number replaces: a statement cannot
// write a row twice.
func lastOfEach(calls []store.Call) []store.Call {
	if len(calls) < 2 {
		return calls
	}
	last := make(map[int64]int, len(calls))
	for i := range calls {
		last[calls[i].Number] = i
	}
	if len(last) == len(calls) {
		return calls
	}
	rest := make([]store.Call, 0, len(last))
	for i := range calls {
		if last[calls[i].Number] == i {
			rest = append(rest, calls[i])
		}
	}
	return rest
}

var deleteMessages = forms(`DELETE FROM perdure.inbox i USING unnest($1::bigint[], $2::bigint[]) AS d (partition, sequence)
			WHERE i.partition =@ d.partition AND i.sequence = d.sequence`)

// consume deletes messages.
func (b *batch) consume(turns []*store.Turn) {
	consumed := collect(turns, func(t *store.Turn) []int64 { return t.Consumed })
	if n := len(consumed); n > 0 {
		b.put(deleteMessages,
			column(n, func(i int) int64 { return int64(consumed[i].turn.Partition) }),
			column(n, func(i int) int64 { return *consumed[i].part }))
	}
}

// deliver adds messages to the inbox, except those whose key is waiting there.
func (b *batch) deliver(turns []*store.Turn) {
	messages := collect(turns, func(t *store.Turn) []store.Message { return t.Messages })
	if b.h.distributed {
		b.deliverEach(messages)
		return
	}
	if n := len(messages); n > 0 {
		b.do(`INSERT INTO perdure.inbox (partition, workflow_id, run, key, kind, data, posted)
			SELECT partition, workflow_id, run, key, kind, data, greatest(now, $7)
			FROM perdure.now(), unnest($1::bigint[], $2::text[], $3::bytea[], $4::text[], $5::text[], $6::text[]) WITH ORDINALITY
				AS m (partition, workflow_id, run, key, kind, data, place)
			ORDER BY place ON CONFLICT DO NOTHING`,
			column(n, func(i int) int64 { return int64(messages[i].part.Partition) }),
			column(n, func(i int) string { return messages[i].part.WorkflowID }),
			runColumn(n, func(i int) string { return messages[i].part.Run }),
			column(n, func(i int) string { return messages[i].part.Key }),
			column(n, func(i int) string { return messages[i].part.Kind }),
			column(n, func(i int) string { return payload(messages[i].part.Data) }),
			b.h.clock.Load())
	}
}
