package feed

import (
	"math"
	"time"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/store"
)

// Line reads the first of the runs that wait to begin, and keeps their line moving.
type Line struct {
	Source
	Line  *dispatch.Line
	Every time.Duration // how often it moves at least

	Locations func() []dispatch.Tenure // that this node looks after
	AtWork    func() int               // runs that may be about to leave the line
	// Found is told of the first runs without a key, and of the first of each key, as many of each
	// partition as share says; see dispatch.Line.EndRead. Asked are the locations that were read.
	Found func(asked []dispatch.Tenure, read dispatch.LineRead, first []store.Wake, byKey []store.LineRun, share int)
	Move  func(now time.Time) (again time.Duration)
}

// Run reads until the context ends.
func (l *Line) Run() {
	timer := time.NewTimer(l.Every)
	defer timer.Stop()
	for {
		if l.Line.ToRead(time.Now()) && l.read() != nil {
			return
		}
		timer.Reset(l.Move(time.Now()))
		select {
		case <-l.Line.Bell:
		case <-timer.C:
		case <-l.Context.Done():
			return
		}
	}
}

func (l *Line) read() (err error) {
	read := l.Line.BeginRead(l.AtWork())
	open := l.Locations() // after that: news of a location that is not among them stays news
	numbers := make([]int, len(open))
	for i, t := range open {
		numbers[i] = t.Partition
	}
	keys := store.LineRead{Partitions: numbers, From: read.From, Limit: read.Limit}
	var first []store.Wake
	var byKey []store.LineRun
	if len(open) > 0 {
		err = l.Watch.Persist(l.Context, "reading who is to begin", func() (err error) {
			first, err = l.Store.Due(l.Context, numbers, math.MinInt64, store.LastInLine, read.Limit)
			if err == nil {
				byKey, err = l.Store.Line(l.Context, keys)
			}
			return err
		})
	}
	if err == nil {
		l.Found(open, read, first, byKey, keys.Share())
	}
	return err
}
