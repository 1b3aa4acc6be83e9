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

// SuspectedAway is Suspected for a ward: the last two other wards of the partition whose
// nodes died did so one after the other, up to now, and none had its ward for long. Nodes
// that left theirs are not asked: it may be that none of them had the run that is sought.
func SuspectedAway(owners []store.Ownership, now int64) bool {
	var died []store.Ownership
	for _, o := range owners {
		if store.WardOf(o.Epoch) != 0 && o.Over && !o.Survived {
			died = append(died, o)
		}
	}
	slices.SortFunc(died, func(a, b store.Ownership) int { return cmp.Compare(b.Since, a.Since) })
	for i, o := range died {
		if now-o.Since > int64(tenure) {
			return false
		}
		if i == 1 {
			return true
		}
		now = o.Since
	}
	return false
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

// DiedBefore reports whether the owner before the current epoch is taken for dead.
func DiedBefore(owners []store.Ownership, current int64) bool {
	for i := len(owners) - 1; i >= 0; i-- {
		if owners[i].Epoch < current {
			return !owners[i].Survived
		}
	}
	return false
}
