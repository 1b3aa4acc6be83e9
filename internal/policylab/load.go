package policylab

import (
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/view"
)

// widths are the time spans by which attempts are counted. Each is a multiple of the
// previous one.
var widths = []int64{
	int64(time.Second), int64(5 * time.Second), int64(15 * time.Second), int64(time.Minute), int64(5 * time.Minute), int64(15 * time.Minute),
	int64(time.Hour), int64(6 * time.Hour), int64(24 * time.Hour), int64(7 * 24 * time.Hour), int64(28 * 24 * time.Hour), int64(364 * 24 * time.Hour),
}

// Limits on the number of spans: while counting, and in the report.
const (
	keptSpans  = 4096
	shownSpans = 50
)

// The series that are counted.
const (
	asRecorded = iota
	asTrial
	asWorst
)

// load counts the starts of attempts per time span. Spans widen when there are too many.
type load struct {
	width  int // index in widths
	counts map[int64]*[3]int
}

func newLoad() load { return load{counts: map[int64]*[3]int{}} }

func (l *load) add(whose int, starts []int64) {
	for _, at := range starts {
		l.at(at)[whose]++
		for len(l.counts) > keptSpans && l.width < len(widths)-1 {
			l.widen()
		}
	}
}

func (l *load) at(at int64) *[3]int {
	span := at - at%widths[l.width]
	n := l.counts[span]
	if n == nil {
		n = new([3]int)
		l.counts[span] = n
	}
	return n
}

// widen switches to the next wider span.
func (l *load) widen() {
	old := l.counts
	l.width++
	l.counts = map[int64]*[3]int{}
	for at, n := range old {
		sum := l.at(at)
		for i := range n {
			sum[i] += n[i]
		}
	}
}

// report returns at most shownSpans points; all spans between them count.
func (l *load) report() view.TrialLoad {
	spans := slices.Sorted(maps.Keys(l.counts))
	for len(spans) > 0 && (spans[len(spans)-1]-spans[0])/widths[l.width] >= shownSpans && l.width < len(widths)-1 {
		l.widen()
		spans = slices.Sorted(maps.Keys(l.counts))
	}
	out := view.TrialLoad{Width: time.Duration(widths[l.width]), Points: []view.TrialPoint{}}
	for _, at := range spans {
		n := l.counts[at]
		out.Points = append(out.Points, view.TrialPoint{Time: time.Unix(0, at).UTC(), Recorded: n[asRecorded], Trial: n[asTrial], Worst: n[asWorst]})
	}
	return out
}
