package trial

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// tenure is the longest time for which an owner that dies of the code it loads has a
// partition: moments, plus its lease and the pause of its supervisor.
const tenure = 10 * time.Minute

// Suspected reports whether the owners of a partition before the current epoch died one after
// the other: the last two did, neither had it for long, and none is known to have survived. A
// single death raises no suspicion.
func Suspected(owners []store.Ownership, current int64) bool {
	deaths, next := 0, int64(0)
	for i := len(owners) - 1; i >= 0; i-- {
		o := owners[i]
		switch {
		case o.Epoch > current:
			continue
		case o.Epoch == current:
			next = o.Since
			continue
		case o.Survived || next-o.Since > int64(tenure):
			return false
		}
		next = o.Since
		if deaths++; deaths == 2 {
			return true
		}
	}
	return false
}

// SuspectedAmong is Suspected for databases where runs move among nodes of several versions.
// It considers the last two owners of a partition and its wards whose nodes died: whether they
// died one after the other, up to now, and neither had its place for long. Nodes that survived
// do not count, because they may have lacked the code of the run in question.
func SuspectedAmong(owners []store.Ownership, now int64) bool {
	var died []store.Ownership
	for _, o := range owners {
		if o.Over && !o.Survived {
			died = append(died, o)
		}
	}
	slices.SortFunc(died, func(a, b store.Ownership) int { return cmp.Compare(b.Since, a.Since) })
	for i := range min(2, len(died)) {
		if now-died[i].Since > int64(tenure) {
			return false
		}
		now = died[i].Since
	}
	return len(died) >= 2
}

// Died reports whether the owner of an epoch is presumed dead.
func Died(owners []store.Ownership, epoch int64) bool {
	for _, o := range owners {
		if o.Epoch == epoch {
			return !o.Survived
		}
	}
	return false
}

// DiedBefore reports whether an owner before the current epoch is presumed dead. It may have
// left a book that was not removed.
func DiedBefore(owners []store.Ownership, current int64) bool {
	return slices.ContainsFunc(owners, func(o store.Ownership) bool { return o.Epoch < current && !o.Survived })
}
