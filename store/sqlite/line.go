package sqlite

import (
	"cmp"
	"context"
	"slices"

	"github.com/perdure/perdure/store"
)

// key is a key that something waits for.
type key struct {
	name   string
	weight int
}

// turnsOf returns the keys whose turn it is, sorted by name. first returns the first key that has
// something, of those with a name that compares so.
func turnsOf(t store.Turns, first func(where, name string) (key string, weight int, found bool, err error)) (keys []key, err error) {
	for _, turned := range []bool{false, true} { // from the one whose turn it is on, then round to it
		where, from := ">=", t.From
		if turned {
			from = ""
		}
		for len(keys) < t.Limit && !(turned && t.From == "") {
			name, weight, found, err := first(where, from)
			if err != nil {
				return nil, err
			}
			if !found || turned && name >= t.From {
				break
			}
			keys = append(keys, key{name, max(weight, 1)})
			where, from = ">", name
		}
	}
	slices.SortFunc(keys, func(a, b key) int { return cmp.Compare(a.name, b.name) })
	return keys, nil
}

func (h *handle) Line(ctx context.Context, read store.LineRead) ([]store.LineRun, error) {
	return ofPartitions(ctx, h, "Line", read.Partitions, false, func(c *conn, partition int) ([]store.LineRun, error) {
		return c.line(ctx, partition, store.Turns{From: read.From, Limit: read.Share()})
	})
}

// line returns the runs of a partition whose turn it is. The wake time is written out, so that
// SQLite sees that the index has those runs.
func (c *conn) line(ctx context.Context, partition int, turns store.Turns) ([]store.LineRun, error) {
	var found []store.LineRun
	read := func(where, order string, limit int, key string) error {
		return c.query(ctx, `SELECT id, run_key, weight, priority, created FROM runs WHERE partition = ? AND wake = -211669182486413311 AND run_key `+where+` ?
			ORDER BY `+order+`priority DESC, created, id LIMIT ?`, func(r row) error {
			l := store.LineRun{Partition: partition}
			r.scan(&l.Run, &l.Key, &l.Weight, &l.Priority, &l.Created)
			found = append(found, l)
			return nil
		}, int64(partition), key, int64(limit))
	}
	keys, err := turnsOf(turns, func(where, name string) (string, int, bool, error) {
		found = nil
		err := read(where, "run_key, ", 1, name)
		if len(found) == 0 {
			return "", 0, false, err
		}
		return found[0].Key, found[0].Weight, true, err
	})
	found = nil
	for _, k := range keys {
		if err == nil {
			err = read("=", "", turns.Keys(len(keys))*k.weight, k.name)
		}
	}
	return store.Take(turns, found, store.KeyOfLineRun), err
}
