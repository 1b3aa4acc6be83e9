package suspicion

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/store"
)

// tenure is the longest time for which an owner that dies of the code it loads has a
// partition: moments, plus its lease and the pause of its supervisor.
const tenure = 10 * time.Minute

// died reports whether the owner of an epoch is presumed dead.
func died(owners []store.Ownership, epoch int64) bool {
	return slices.ContainsFunc(owners, func(o store.Ownership) bool { return o.Epoch == epoch && !o.Survived })
}

// suspected reports whether the owners of a partition before the current epoch died one after
// the other: the last two did, neither had it for long, and none is known to have survived. A
// single death raises no suspicion.
func suspected(owners []store.Ownership, current int64) bool {
	var before []store.Ownership
	until := int64(0)
	for _, o := range owners {
		if o.Epoch == current {
			until = o.Since
		} else if o.Epoch < current {
			before = append(before, o)
		}
	}
	return diedInARow(before, until)
}

// suspectedAmong is suspected for databases where runs move among nodes of several versions.
// It considers the last two owners of a partition and its wards whose nodes died, up to now.
// Nodes that survived do not count, because they may have lacked the code of the run in question.
func suspectedAmong(owners []store.Ownership, now int64) bool {
	dead := slices.DeleteFunc(slices.Clone(owners), func(o store.Ownership) bool { return !o.Over || o.Survived })
	slices.SortFunc(dead, func(a, b store.Ownership) int { return cmp.Compare(a.Since, b.Since) })
	return diedInARow(dead, now)
}

// diedInARow reports whether the last two owners died one after the other, until a time.
func diedInARow(owners []store.Ownership, until int64) bool {
	for at := len(owners) - 1; at >= 0; at-- {
		if owners[at].Survived || until-owners[at].Since > int64(tenure) {
			return false
		}
		if until = owners[at].Since; at == len(owners)-2 {
			return true
		}
	}
	return false
}
