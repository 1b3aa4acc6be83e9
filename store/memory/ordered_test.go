package memory

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestOrderedIsASortedSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := ordered[int]{compare: cmp.Compare[int]}
		set := map[int]bool{}
		sorted := func() []int {
			var all []int
			for v := range set {
				all = append(all, v)
			}
			slices.Sort(all)
			return all
		}
		value := rapid.IntRange(0, 3*chunkSize)
		t.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) { v := value.Draw(t, "v"); o.insert(v); set[v] = true },
			"remove": func(t *rapid.T) { v := value.Draw(t, "v"); o.remove(v); delete(set, v) },
			"fill": func(t *rapid.T) { // so that chunks split
				for v := value.Draw(t, "from"); v < 3*chunkSize; v += rapid.IntRange(1, 3).Draw(t, "step") {
					o.insert(v)
					set[v] = true
				}
			},
			"empty": func(t *rapid.T) {
				for v := range value.Draw(t, "below") {
					o.remove(v)
					delete(set, v)
				}
			},
			"": func(t *rapid.T) {
				all := sorted()
				if got := slices.Collect(o.ascend(-1)); !slices.Equal(got, all) {
					t.Fatalf("upwards %v, want %v", got, all)
				}
				slices.Reverse(all)
				if got := slices.Collect(o.descend()); !slices.Equal(got, all) {
					t.Fatalf("downwards %v, want %v", got, all)
				}
			},
			"seek": func(t *rapid.T) {
				v := value.Draw(t, "v")
				all := sorted()
				from, _ := slices.BinarySearch(all, v)
				if got := slices.Collect(o.ascend(v)); !slices.Equal(got, all[from:]) {
					t.Fatalf("from %d: %v, want %v", v, got, all[from:])
				}
			},
		})
	})
}
