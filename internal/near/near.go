package near

import (
	"iter"
	"slices"
	"strings"
)

// manyNames are so many that they are not searched for one that was meant.
const manyNames = 1000

// Hint is a question with the names that are written almost like one; empty if there
// are none, or too many.
func Hint(name string, all iter.Seq[string]) string {
	found := Names(name, all)
	if len(found) == 0 {
		return ""
	}
	return "Did you mean " + strings.Join(found, " or ") + "?"
}

// Names are the names that are written almost like one, sorted; none if there are too
// many.
func Names(name string, all iter.Seq[string]) []string {
	var found []string
	best := far
	seen := 0
	for other := range all {
		if seen++; seen > manyNames {
			return nil
		}
		if other == "_" || other == name {
			continue
		}
		d, most := distance(strings.ToLower(name), strings.ToLower(other)), min(2, (len(name)-1)/2)
		if swapped(name, other) {
			d = most
		}
		switch {
		case d > most || d > best:
		case d < best:
			best, found = d, []string{other}
		default:
			found = append(found, other)
		}
	}
	if len(found) > 3 {
		return nil
	}
	slices.Sort(found)
	return found
}

// swapped reports whether two words differ in the order of two letters.
func swapped(a, b string) bool {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return len(a) == len(b) && i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// far is a distance at which a word is not meant by another one.
const far = 3

// distance is how many letters have to be changed, added or left out; far if it is
// that or more.
func distance(a, b string) int {
	if max(len(a), len(b)) > 64 || max(len(a)-len(b), len(b)-len(a)) >= far {
		return far
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = min(j, far)
	}
	for i := range len(a) {
		// What is far from the diagonal of the table is far.
		from, to := max(0, i-far+1), min(len(b), i+far)
		diagonal := row[from]
		row[from] = far
		if from == 0 {
			row[0] = i + 1
		}
		for j := from; j < to; j++ {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, diagonal+1, row[j]+1, far)
		}
	}
	return row[len(b)]
}
