package placement

import "github.com/perdure/perdure/store"

// Orphan is a ward of a partition of this node whose own node is gone.
type Orphan[L located] struct {
	Of   L // the partition
	Ward int
}

// Wards returns the locations of this node into which runs may have been moved: the wards that it serves,
// and the partitions to which the runs of wards may have come home. Orphans are the wards of its
// partitions whose nodes are gone.
func (ls *Locations[L]) Wards(ms *store.Membership) (shared []L, orphans []Orphan[L]) {
	live := map[string]bool{}
	for _, m := range ms.Nodes {
		live[m.ID] = true
	}
	var none L
	for _, o := range ms.Owners {
		if Ward(o.Partition) == 0 {
			continue
		}
		if home := ls.At(Home(o.Partition)); home != none {
			shared = append(shared, home)
			if !live[o.Node] {
				orphans = append(orphans, Orphan[L]{home, Ward(o.Partition)})
			}
		}
		if ward := ls.At(o.Partition); ward != none {
			shared = append(shared, ward)
		}
	}
	return shared, orphans
}
