package postgres

// A page has the first rows of all places. To read a page of each place would be nearly all for
// nothing, as rows are spread over places by a hash; so each is asked for a few first. A place that
// gave all of these to the page may have more that belong there. Then each is asked for a page.

// few is how many rows of each place are read at first: four times its share and some more, which no
// place exceeds by chance.
func few(limit, places int) int { return min(limit, 4*limit/max(places, 1)+8) }

// exceeds reports whether a place gave as many rows of a page as it was asked for.
func exceeds[R any](page []R, each int, place func(*R) int) bool {
	gave := map[int]int{}
	for i := range page {
		p := place(&page[i])
		if gave[p]++; gave[p] >= each {
			return true
		}
	}
	return false
}

// places is how many of them are asked for these partitions; nil is all.
func (h *handle) places(partitions []int) int {
	if partitions == nil {
		return h.info.Partitions
	}
	return len(partitions)
}
