package feed_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/feed"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/store"
)

// inLine is a store that has one run in line.
type inLine struct {
	store.Store
	asked [][]int // locations, by read
}

func (s *inLine) Due(_ context.Context, locations []int, _, _ int64, _ int) ([]store.Wake, error) {
	s.asked = append(s.asked, slices.Clone(locations))
	return nil, nil
}

func (s *inLine) Line(context.Context, store.LineRead) ([]store.LineRun, error) { return nil, nil }

// TestNewsOfALocationThatOpensDuringAReadOfTheLine: the read either has the location, or leaves the
// news for the next one.
func TestNewsOfALocationThatOpensDuringAReadOfTheLine(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	slots := dispatch.NewSlots(1, func() bool { return true })
	line := dispatch.NewLine(slots, time.Hour)
	db := &inLine{}
	open := []dispatch.Tenure{{Partition: 1, Epoch: 1}}
	f := feed.Line{
		Source: feed.Source{Context: ctx, Store: db, Watch: new(outage.Watch)}, Line: line, Every: time.Hour,
		Locations: func() []dispatch.Tenure { return open },
		AtWork: func() int {
			if len(open) == 1 { // it waits for who opens the location
				open = append(open, dispatch.Tenure{Partition: 2, Epoch: 1})
				line.News()
			}
			return 0
		},
		Found: func(_ []dispatch.Tenure, read dispatch.LineRead, _ []store.Wake, _ []store.LineRun, share int) {
			line.EndRead(read, nil, nil, share)
		},
		Move: func(time.Time) time.Duration {
			if !line.ToRead(time.Now()) {
				end()
			}
			return 0
		},
	}
	line.News()
	f.Run()
	if !slices.ContainsFunc(db.asked, func(at []int) bool { return slices.Contains(at, 2) }) {
		t.Errorf("the line was read at %v", db.asked)
	}
}
