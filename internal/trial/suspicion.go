package trial

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// tenure is how long an owner that dies of the code it loads has a partition at most:
// moments, and then its lease and the pause of its supervisor go by.
const tenure = 10 * time.Minute

// Suspected reports whether the owners of a partition before the current epoch died one
// after the other: the last two did, neither had it for long, and none is known to have
// survived. A node that is killed once is not suspected of anything.
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

// SuspectedAmong is Suspected where runs move among nodes of several versions: the last two
// of a partition and its wards whose nodes died did so one after the other, up to now, and
// none had its place for long. Nodes that lived are not asked: none of them may have had
// code of the run that is sought.
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

// Died reports whether the owner of an epoch is taken for dead.
func Died(owners []store.Ownership, epoch int64) bool {
	for _, o := range owners {
		if o.Epoch == epoch {
			return !o.Survived
		}
	}
	return false
}

// DiedBefore reports whether an owner before the current epoch is taken for dead: it may
// have left a book that nobody has removed.
func DiedBefore(owners []store.Ownership, current int64) bool {
	return slices.ContainsFunc(owners, func(o store.Ownership) bool { return o.Epoch < current && !o.Survived })
}
