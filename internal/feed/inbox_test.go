package feed_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/feed"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// mail is a store with messages of one location.
type mail struct {
	store.Store
	all   []store.Message
	reads []store.InboxRead
}

func (m *mail) Inbox(_ context.Context, _ []int, read store.InboxRead) (page []store.Message, _ error) {
	m.reads = append(m.reads, read)
	for _, one := range m.all {
		if one.Sequence > read.After && (read.Of == nil || slices.Contains(read.Of, one.WorkflowID)) && len(page) < read.Limit {
			page = append(page, one)
		}
	}
	return page, nil
}

// reader is an inbox over some messages, two a page, and the workflow IDs to which it delivers.
type reader struct {
	*feed.Inbox
	mail    *mail
	box     *post.Box
	crowded bool
	heard   []string
}

func newReader(workflowIDs ...string) *reader {
	r := &reader{mail: &mail{}}
	for i, id := range workflowIDs {
		r.mail.all = append(r.mail.all, store.Message{Partition: 1, Sequence: int64(i + 1), WorkflowID: id})
	}
	office := post.NewOffice()
	r.box = office.Open(1)
	r.Inbox = feed.NewInbox(feed.InboxConfig{
		Source: feed.Source{Context: context.Background(), Store: r.mail, Watch: new(outage.Watch), Clock: clock.New(1)},
		Office: office, Every: time.Hour, Page: 2,
		Boxes: func(bool) []*post.Box { return []*post.Box{r.box} },
		Box: func(number int) *post.Box {
			if number != 1 {
				return nil
			}
			return r.box
		},
		Route: func(m store.Message, _ *post.Look) error {
			r.heard = append(r.heard, m.WorkflowID)
			return nil
		},
		Crowded: func() bool { return r.crowded },
	})
	return r
}

// TestACrowdedNodeHearsOnlyWhatItsRunsWaitFor: and of the rest of a long inbox it reads only that.
func TestACrowdedNodeHearsOnlyWhatItsRunsWaitFor(t *testing.T) {
	r := newReader("other", "mine", "other", "other", "mine")
	r.crowded = true
	if err := r.HearSince(r.box, "mine", 1); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.heard, []string{"mine", "mine"}) {
		t.Errorf("it delivered to %v", r.heard)
	}
	if len(r.mail.reads) != 2 || r.mail.reads[0].Of != nil || !slices.Equal(r.mail.reads[1].Of, []string{"mine"}) {
		t.Errorf("it read %+v", r.mail.reads)
	}
	if r.box.HeardSince(1) {
		t.Error("all is heard, although messages were left")
	}
	r.heard, r.mail.reads = nil, nil
	_ = r.HearSince(r.box, "mine", time.Now().Add(time.Hour).UnixNano()) // the inbox was long
	if len(r.mail.reads) == 0 || r.mail.reads[0].Of == nil {
		t.Errorf("of an inbox that was long it read %+v", r.mail.reads)
	}
}

// TestAShortInboxIsReadWhole although the node is crowded: nothing in it has to be left.
func TestAShortInboxIsReadWhole(t *testing.T) {
	r := newReader("other")
	r.crowded = true
	for range 2 {
		if err := r.HearSince(r.box, "mine", time.Now().Add(time.Hour).UnixNano()); err != nil {
			t.Fatal(err)
		}
	}
	for _, read := range r.mail.reads {
		if read.Of != nil {
			t.Errorf("it read only the messages of %v", read.Of)
		}
	}
	if !slices.Contains(r.heard, "other") || !r.box.HeardSince(1) {
		t.Errorf("it delivered to %v", r.heard)
	}
}

// TestACrowdedNodeStopsReading after the page that it has: the next look begins with what it left.
func TestACrowdedNodeStopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReader("a", "b", "c", "d")
		r.crowded = true
		ctx, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		r.Context = ctx
		r.Kick()
		r.Run()
		if !slices.Equal(r.heard, []string{"a", "b"}) || r.box.HeardSince(1) {
			t.Errorf("it delivered to %v", r.heard)
		}
	})
}

// TestDueTimesAreReadInPagesAndRarely: a page that is full is followed by the next one soon; without
// locations nothing is read.
func TestDueTimesAreReadInPagesAndRarely(t *testing.T) {
	for _, owned := range [][]int{{}, {1}} {
		t.Run(fmt.Sprint(owned), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithTimeout(t.Context(), 65*time.Second)
				defer end()
				db := &times{left: 1500}
				asked, found := 0, 0
				f := feed.Due{
					Source: feed.Source{Context: ctx, Store: db, Watch: new(outage.Watch), Clock: clock.New(time.Now().UnixNano())},
					Times:  dispatch.NewDue(0), Ahead: time.Minute,
					Locations: func() []int { asked++; return owned },
					Found:     func(wakes []store.Wake) { found += len(wakes) },
					Step:      func([]dispatch.DueRun) {},
				}
				f.Run()
				if len(owned) == 0 {
					if asked != 4 || db.reads != 0 {
						t.Errorf("it asked %d times in a minute, and read %d times", asked, db.reads)
					}
					return
				}
				if db.reads != 5 || found != 1500 {
					t.Errorf("it read %d times in a minute and found %d of 1500 times", db.reads, found)
				}
			})
		})
	}
}

// times is a store with many due times.
type times struct {
	store.Store
	left, reads int
}

func (s *times) Due(_ context.Context, _ []int, _, _ int64, limit int) ([]store.Wake, error) {
	s.reads++
	page := make([]store.Wake, min(limit, s.left))
	s.left -= len(page)
	return page, nil
}
