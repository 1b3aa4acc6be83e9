package postgres

import "github.com/perdure/perdure/store"

// column returns the array of a column.
func column[T any](n int, value func(i int) T) []T {
	values := make([]T, n)
	for i := range values {
		values[i] = value(i)
	}
	return values
}

func partitions(turns []*store.Turn) []int64 {
	return column(len(turns), func(i int) int64 { return int64(turns[i].Partition) })
}

func places(turns []*store.Turn) []int64 {
	return column(len(turns), func(i int) int64 { return int64(turns[i].Place()) })
}

func runs(turns []*store.Turn) runIDs {
	return runColumn(len(turns), func(i int) string { return turns[i].Run })
}

// selected returns the turns for which keep returns true.
func selected(turns []*store.Turn, keep func(t *store.Turn) bool) []*store.Turn {
	var list []*store.Turn
	for _, t := range turns {
		if keep(t) {
			list = append(list, t)
		}
	}
	return list
}

// of is a part of a turn, with the turn.
type of[T any] struct {
	turn *store.Turn
	part *T
}

// collect lists parts of turns, in order.
func collect[T any](turns []*store.Turn, parts func(t *store.Turn) []T) []of[T] {
	var list []of[T]
	for _, t := range turns {
		own := parts(t)
		for i := range own {
			list = append(list, of[T]{t, &own[i]})
		}
	}
	return list
}
