package store

import (
	"cmp"
	"slices"
)

// LineRead says which runs in line by their keys to read; see Owner.Line.
type LineRead struct {
	Partitions []int
	From       string // the key whose turn it is
	Limit      int    // of runs, at least 1; perhaps one more of each partition is returned
}

// Share returns how many runs of each partition are read.
func (l *LineRead) Share() int { return (l.Limit + len(l.Partitions) - 1) / max(len(l.Partitions), 1) }

// LineRun is a run that is in line by its key.
type LineRun struct {
	Partition int
	Run       string
	Key       string
	Weight    int
	Priority  int
	Created   int64 // ns
}

// CompareLineRuns orders runs of a partition by key, then priority, highest first, then age.
func CompareLineRuns(a, b *LineRun) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Created, b.Created), cmp.Compare(a.Run, b.Run))
}

// KeyOfLineRun returns the key of a run and its weight.
func KeyOfLineRun(r *LineRun) (key string, weight int) { return r.Key, r.Weight }

// Turns says how keys take turns: in the order of their names, from one key on and then round. A key
// gets as many in a row as its weight says.
type Turns struct {
	From  string // the key whose turn it is, or that would come next
	Spent int    // how many it has got already
	Limit int
}

// Keys returns of how many rows of each of several keys at most Take may choose one; the
// weight multiplies it.
func (t Turns) Keys(keys int) int { return (t.Limit + keys - 1) / max(keys, 1) }

// Take returns the rows that are next in turn, in order, at most Limit. The rows given are
// sorted by key and, within a key, in the order in which they are served. of returns the key of
// a row and its weight. Rows beyond the first Limit keys in turn, and of each key beyond Keys
// times its weight, need not be given.
func Take[T any](t Turns, rows []T, of func(*T) (key string, weight int)) []T {
	type chosen struct {
		row        T
		round, key int
	}
	type key struct{ from, until int }
	var keys []key
	first := 0 // of the keys at or after From
	for i := range rows {
		name, _ := of(&rows[i])
		if i > 0 {
			if before, _ := of(&rows[i-1]); before == name {
				keys[len(keys)-1].until++
				continue
			}
		}
		if name < t.From {
			first++
		}
		keys = append(keys, key{i, i + 1})
	}
	if len(keys) == 0 {
		return nil
	}
	keys = slices.Concat(keys[first:], keys[:first])
	keys = keys[:min(len(keys), t.Limit)]
	var all []chosen
	for place, k := range keys {
		name, weight := of(&rows[k.from])
		weight = max(weight, 1)
		spent := 0
		if name == t.From {
			spent = min(t.Spent, weight-1)
		}
		for n := range min(k.until-k.from, t.Keys(len(keys))*weight) {
			all = append(all, chosen{rows[k.from+n], (n + spent) / weight, place})
		}
	}
	slices.SortStableFunc(all, func(a, b chosen) int { return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.key, b.key)) })
	taken := make([]T, 0, min(len(all), t.Limit))
	for _, c := range all[:min(len(all), t.Limit)] {
		taken = append(taken, c.row)
	}
	return taken
}

// afterKey follows a key and precedes all others: keys have no control characters.
const afterKey = "\x01"

// After returns whose turn it is when rows were taken by turns, which were returned in this order.
func After[T any](t Turns, taken []T, of func(*T) (key string, weight int)) Turns {
	if len(taken) == 0 {
		return t
	}
	last, weight := of(&taken[len(taken)-1])
	got := 0
	for i := range taken {
		if name, _ := of(&taken[i]); name == last {
			got++
		}
	}
	if last == t.From {
		got += t.Spent
	}
	if weight = max(weight, 1); got%weight == 0 {
		return Turns{From: last + afterKey, Limit: t.Limit}
	}
	return Turns{From: last, Spent: got % weight, Limit: t.Limit}
}
