package postgres

import (
	"context"
	"math"
	"slices"

	"github.com/perdure/perdure/store"
)

// atMost returns the number of rows for a LIMIT clause: all for 0.
func atMost(limit int) int64 {
	if limit <= 0 {
		return math.MaxInt64
	}
	return int64(limit)
}

const (
	hasWards = `EXISTS (SELECT FROM perdure.partitions WHERE id > ` + home + `)`
	// Select the numbers first, so that the sort carries no data. The place of a run is
	// only looked up per message while there are wards.
	selectInbox = `WITH first AS (SELECT p.id AS place, p.ward, m.sequence AS number FROM unnest($1::bigint[], $4::bigint[]) AS p (id, ward), LATERAL (
				(SELECT sequence FROM perdure.inbox WHERE NOT (SELECT ` + hasWards + `) AND p.ward = 0 AND partition = p.id AND sequence > $2 ORDER BY sequence LIMIT $3)
				UNION ALL
				(SELECT sequence FROM perdure.inbox i WHERE (SELECT ` + hasWards + `) AND partition = p.id AND sequence > $2
				AND p.ward = coalesce((SELECT r.ward FROM perdure.runs r WHERE r.partition = p.id AND r.workflow_id = i.workflow_id AND r.ward <> 0
					AND (r.id = i.run OR i.run = '' AND r.latest)), 0)
				ORDER BY sequence LIMIT $3)) m
				ORDER BY m.sequence LIMIT $3)
			SELECT ` + messageColumns + `, ward
			FROM first JOIN perdure.inbox ON partition = place AND sequence = number ORDER BY sequence`
	// For a distributed database, in one query, because inboxes are short: with wards and
	// without.
	selectInboxOfPlaces = inboxOfPlaces + `
			ORDER BY sequence LIMIT $3`
	// Of some workflow IDs, which are few, while an inbox may be long. The fence and the sum keep
	// the planner, who may have seen a short one, from the index by number.
	selectInboxOf = inboxOf + `unnest($5::text[]) AS w (id), unnest($1::bigint[]) AS p (id), LATERAL (
				SELECT * FROM perdure.inbox i WHERE i.partition = p.id AND i.workflow_id = w.id AND i.sequence + 0 > $2 ORDER BY i.key OFFSET 0) inbox` + atPlaces + `
			ORDER BY sequence LIMIT $3`
	selectInboxOfDistributed = inboxOfPlaces + ` AND inbox.workflow_id = ANY ($5::text[])
			ORDER BY sequence LIMIT $3`
	inboxOfPlaces = inboxOf + `perdure.inbox` + atPlaces
	inboxOf       = `SELECT inbox.partition, sequence, inbox.workflow_id, run, key, kind, posted, data, coalesce(runs.ward, 0) FROM `
	atPlaces      = ` LEFT JOIN perdure.runs ON inbox.partition = runs.partition AND runs.workflow_id = inbox.workflow_id AND runs.ward <> 0
				AND (runs.id = inbox.run OR inbox.run = '' AND runs.latest)
			WHERE inbox.partition = ANY ($1::bigint[]) AND sequence > $2 AND inbox.partition | (coalesce(runs.ward, 0) << 32) = ANY ($4::bigint[])`
	selectInboxOfPartitions = `SELECT ` + messageColumns + `, 0 FROM perdure.inbox
			WHERE partition = ANY ($1::bigint[]) AND sequence > $2 ORDER BY sequence LIMIT $3`
)

func (h *handle) Inbox(ctx context.Context, partitions []int, read store.InboxRead) ([]store.Message, error) {
	partitions, err := h.info.Ordered(partitions)
	if err != nil || len(partitions) == 0 {
		return nil, err
	}
	var homes, wards []int
	for _, p := range partitions {
		home, ward := store.SplitPlace(p)
		homes, wards = append(homes, home), append(wards, ward)
	}
	return shared(ctx, h, "Inbox", func(c *conn) ([]store.Message, error) {
		query, args := selectInbox, []any{homes, read.After, atMost(read.Limit), wards}
		switch {
		case read.Of != nil && h.distributed:
			query, args = selectInboxOfDistributed, []any{homes, read.After, atMost(read.Limit), partitions, read.Of}
		case read.Of != nil:
			slices.Sort(homes)
			query, args = selectInboxOf, []any{slices.Compact(homes), read.After, atMost(read.Limit), partitions, slices.Compact(slices.Sorted(slices.Values(read.Of)))}
		case h.distributed:
			wards, err := c.one(ctx, `SELECT 1 WHERE `+hasWards, nil, new(int))
			if err != nil {
				return nil, err
			}
			if query, args = selectInboxOfPlaces, []any{homes, read.After, atMost(read.Limit), partitions}; !wards {
				noWards := slices.DeleteFunc(slices.Clone(partitions), func(p int) bool { _, ward := store.SplitPlace(p); return ward != 0 })
				query, args = selectInboxOfPartitions, []any{noWards, read.After, atMost(read.Limit)}
			}
		}
		return list(ctx, c, query, args, func(m *store.Message) []any { return append(messageFields(m), (*inWard)(&m.Partition)) })
	})
}

func (h *handle) Load(ctx context.Context, partition int, run string) (*store.Record, error) {
	if err := h.info.Check(partition); err != nil {
		return nil, err
	}
	return shared(ctx, h, "Load", func(c *conn) (*store.Record, error) {
		var runs []store.Run
		record := &store.Record{}
		err := c.send(ctx, func(b *batch) {
			b.do(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`) // one snapshot
			b.query(`SELECT `+runColumnsOf1+` FROM perdure.runs WHERE partition = $1 AND id = $2`, []any{partition, runID(run)}, into(&runs, runFields))
			b.query(selectTurns, []any{partition, runID(run), math.MinInt64, math.MaxInt64}, into(&record.Turns, turnFields))
			b.query(selectCalls, []any{partition, runID(run)}, into(&record.Calls, callFields))
			b.do(`COMMIT`)
		})
		if err != nil {
			c.rollback()
			return nil, err
		}
		found, err := foundRun(runs, nil)
		if err == nil {
			record.Run = *found
		}
		return record, err
	})
}
