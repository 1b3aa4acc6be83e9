package postgres

// A page has the first rows of all places. To read a page of each place would be nearly all for
// nothing, as rows are spread over places by a hash; so each is asked for a few first. A place that
// gave all of these to the page may have more that belong there. Then each is asked for a page.

// page reads a page of what lies in partitions, nil being all, by a function that reads it with so
// many rows of each of them.
func page[R any](h *handle, limit int, partitions []int, place func(*R) int, read func(each int) ([]R, error)) ([]R, error) {
	if h.distributed {
		return read(limit)
	}
	places := len(partitions)
	if partitions == nil {
		places = h.info.Partitions
	}
	each := few(limit, places)
	rows, err := read(each)
	if err == nil && each < limit && exceeds(rows, each, place) {
		return read(limit)
	}
	return rows, err
}

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
