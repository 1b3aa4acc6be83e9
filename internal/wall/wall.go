package wall

import "time"

// Of returns what a clock shows at a moment.
func Of(at time.Time, zone *time.Location) int64 {
	_, offset := at.In(zone).Zone()
	return at.Unix() + int64(offset)
}

// Day is how far from a time on the wall the offsets before and after it are looked up, in
// seconds.
const Day = 24 * 60 * 60

// Instant returns the moment at which a clock shows a time: the first one if it shows it
// twice, and that at which it goes on if it leaves it out.
func Instant(wall int64, zone *time.Location) time.Time {
	before, after := offsetAt(wall-Day, zone), offsetAt(wall+Day, zone)
	early, late := wall-before, wall-after
	switch {
	case offsetAt(early, zone) == before:
		return time.Unix(early, 0)
	case offsetAt(late, zone) == after:
		return time.Unix(late, 0)
	}
	// The offset changed in between, in the gap or for a short while.
	if began, _ := time.Unix(max(early, late), 0).In(zone).ZoneBounds(); !began.IsZero() {
		if at := wall - offsetAt(began.Unix(), zone); at >= began.Unix() && offsetAt(at, zone) == offsetAt(began.Unix(), zone) {
			return time.Unix(at, 0)
		}
		return began
	}
	return time.Unix(early, 0)
}

func offsetAt(unix int64, zone *time.Location) int64 {
	_, offset := time.Unix(unix, 0).In(zone).Zone()
	return int64(offset)
}
