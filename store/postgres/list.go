package postgres

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

func (h *handle) List(ctx context.Context, filter store.Filter) ([]store.Run, error) {
	if filter.Partitions != nil { // nil is all of them
		var err error
		if filter.Partitions, err = h.info.Ordered(filter.Partitions); err != nil {
			return nil, err
		}
	}
	limit := store.Page(filter.Limit)
	return shared(ctx, h, "List", func(c *conn) ([]store.Run, error) {
		return page(h, limit, filter.Partitions, func(r *store.Run) int { return r.Partition }, func(each int) (runs []store.Run, err error) {
			query, args := listing(&filter, h.distributed, each)
			switch {
			case query == "":
				return nil, nil
			case !h.distributed:
				return list(ctx, c, query, args, runFields)
			}
			err = c.eachPartition(ctx, filter.Partitions == nil, filter.Partitions, query, args[1:], into(&runs, runFields))
			return newest(runs, limit, func(a, b store.Run) int {
				return -cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Partition, b.Partition))
			}), err
		})
	})
}

func (h *handle) Floor(ctx context.Context, partitions []int, before string, each int) (string, error) {
	all := partitions == nil
	partitions, err := h.info.Ordered(partitions)
	if err != nil {
		return "", err
	}
	const newest = `SELECT r.id FROM perdure.runs r WHERE r.partition = `
	below, args := ``, []any{max(each, 1) - 1}
	if before != "" {
		below, args = ` AND r.id < $3`, append(args, runID(before))
	}
	const one = ` ORDER BY r.id DESC OFFSET $2 LIMIT 1`
	return shared(ctx, h, "Floor", func(c *conn) (floor string, err error) {
		add := func(r pgx.Rows) error {
			var id string
			err := r.Scan((*runID)(&id))
			floor = max(floor, id)
			return err
		}
		if h.distributed {
			err := c.eachPartition(ctx, all, partitions, newest+`$1`+below+one, args, add)
			return floor, err
		}
		query, where := `SELECT f.id FROM unnest($1::bigint[]) AS p (id), LATERAL (`+newest+`p.id`+below+one+`) f`, any(partitions)
		if all {
			query, where = `SELECT f.id FROM perdure.partitions p, LATERAL (`+newest+`p.id`+below+one+`) f WHERE $1::bigint[] IS NULL`, any(nil)
		}
		err = c.query(ctx, query, append([]any{where}, args...), add)
		return floor, err
	})
}

// listing returns the query for a filter, "" if it selects nothing. It takes the newest
// runs of each partition, and of each status if there is an index for it, up to a number.
// It then reads the rows of the newest of all, up to the limit. In a distributed database the query is for
// one partition, its first parameter.
func listing(filter *store.Filter, distributed bool, each int) (query string, args params) {
	limit, home := store.Page(filter.Limit), `p.id`
	if distributed {
		home = args.add(nil)
	}
	most := args.add(limit)
	places, where := `perdure.partitions p`, `r.partition = `+home
	if filter.Partitions != nil && !distributed {
		places = `unnest(` + args.add(filter.Partitions) + `::bigint[]) AS p (id)`
	}
	statuses := slices.Clone(filter.Status)
	slices.Sort(statuses)
	statuses = slices.Compact(statuses)
	others := slices.DeleteFunc(slices.Clone(statuses), func(s store.Status) bool { return s == store.Completed })
	switch {
	case len(statuses) == 0:
		where += ` AND r.status <> '` + string(store.Standing) + `'`
	case len(others) == len(statuses) && distributed:
		where += ` AND r.status = ANY (` + args.add(others) + `::text[]) AND r.status <> 'completed'`
	case len(others) == len(statuses): // there is an index for them
		places += `, unnest(` + args.add(others) + `::text[]) AS s (status)`
		where += ` AND r.status = s.status AND r.status <> 'completed'`
	default:
		where += ` AND r.status = ANY (` + args.add(statuses) + `::text[])`
	}
	if filter.Before != "" {
		where += ` AND r.id < ` + args.add(runID(filter.Before))
	}
	if filter.Above != "" {
		where += ` AND r.id > ` + args.add(runID(filter.Above))
	}
	if !filter.Since.IsZero() {
		where += ` AND r.created >= ` + args.add(filter.Since.UnixNano())
	}
	if !filter.Until.IsZero() {
		where += ` AND r.created < ` + args.add(filter.Until.UnixNano())
	}
	from, order, also := byAttributes(filter, home, &args)
	where += also
	if filter.Type != "" {
		where += ` AND r.type = ` + args.add(filter.Type)
	}
	if filter.IDPrefix != "" {
		where += ` AND starts_with(r.workflow_id, ` + args.add(filter.IDPrefix) + `)`
	}
	if filter.ErrorType != "" {
		where += ` AND EXISTS (SELECT FROM perdure.attempts a WHERE a.partition = ` + orHome(distributed, home, `r.partition`) + ` AND a.run = r.id AND a.error_type = ` + args.add(filter.ErrorType) +
			` AND ` + latestOfCall(orHome(distributed, home, `a.partition`)) + ` OFFSET 0)`
	}
	if filter.Call != "" {
		where += ` AND EXISTS (SELECT FROM perdure.calls c WHERE c.partition = ` + orHome(distributed, home, `r.partition`) + ` AND c.run = r.id AND c.state = ` + args.add(filter.Call) + `)`
	}
	for _, text := range texts(filter) {
		if !isText(text) {
			return "", nil // no row has such a value
		}
	}
	if distributed {
		return `SELECT ` + runColumnsOf1 + ` FROM (SELECT r.id AS place FROM ` + from + ` WHERE ` + where + ` ORDER BY ` + order + ` DESC LIMIT ` + most + `) newest
			JOIN perdure.runs ON partition = ` + home + ` AND id = place ORDER BY id DESC`, args
	}
	mostOfEach := args.add(each)
	return `WITH newest AS (SELECT r.partition AS place, r.id AS run FROM ` + places + `, LATERAL (
			SELECT r.partition, r.id FROM ` + from + ` WHERE ` + where + ` ORDER BY ` + order + ` DESC LIMIT ` + mostOfEach + `) r
			ORDER BY r.id DESC LIMIT ` + most + `)
		SELECT ` + runColumns + ` FROM newest JOIN perdure.runs ON partition = place AND id = run ORDER BY id DESC, partition DESC`, args
}

// orHome returns the partition of a row that belongs to another row: in a query for one
// partition, its parameter.
func orHome(distributed bool, home, partition string) string {
	if distributed {
		return home
	}
	return partition
}

// byAttributes returns where to read runs from, their order, and further conditions. Only
// runs with the first attribute of the filter are read, newest first.
func byAttributes(filter *store.Filter, home string, args *params) (from, order, also string) {
	from, order = `perdure.runs r`, `r.id`
	for i, a := range filter.Attributes {
		has := `partition = ` + home + ` AND name = ` + args.add(a.Name) + ` AND value = ` + args.add(a.Value)
		if i > 0 {
			also += ` AND EXISTS (SELECT FROM perdure.attributes WHERE ` + has + ` AND run = r.id OFFSET 0)`
			continue
		}
		if filter.Before != "" {
			has += ` AND run < ` + args.add(runID(filter.Before))
		}
		if filter.Above != "" {
			has += ` AND run > ` + args.add(runID(filter.Above))
		}
		from = `(SELECT run FROM perdure.attributes WHERE ` + has + ` ORDER BY run DESC OFFSET 0) a JOIN perdure.runs r ON r.id = a.run`
		order = `a.run`
	}
	return from, order, also
}

// texts are the filter's texts that rows must equal.
func texts(filter *store.Filter) []string {
	all := []string{filter.Type, filter.IDPrefix, filter.ErrorType, string(filter.Call)}
	for _, s := range filter.Status {
		all = append(all, string(s))
	}
	for _, a := range filter.Attributes {
		all = append(all, a.Name, a.Value)
	}
	return all
}

// isText reports whether a text column can hold the value.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
