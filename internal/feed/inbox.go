package feed

import (
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/store"
)

// InboxConfig is what an Inbox needs.
type InboxConfig struct {
	Source
	Office *post.Office
	Every  time.Duration // how often it is read without news
	Soon   time.Duration // how long news may wait that Later tells
	Page   int           // how many messages one query reads

	Boxes func(all bool) []*post.Box   // of the locations that this node looks after; all: also those it is handing over
	Box   func(location int) *post.Box // nil if this node does not serve it
	// Route delivers a message that was not delivered before. Its error ends the look.
	Route func(m store.Message, l *post.Look) error
	// Crowded reports whether so many turns are in progress that more messages have to wait. They
	// wait in the inbox, where a run costs only a row; the next look starts with them. A look that
	// runs wait for delivers only theirs then.
	Crowded func() bool
}

// Inbox reads the messages for the locations of this node. It is safe for concurrent use.
type Inbox struct {
	InboxConfig
	bell    clock.Bell
	later   clock.Bell    // some mail can wait
	reading chan struct{} // one look at a time; it may last as long as an outage
	long    bool          // a look last found more than a page; for who looks
}

// NewInbox returns the reader of an inbox.
func NewInbox(c InboxConfig) *Inbox {
	return &Inbox{InboxConfig: c, bell: clock.NewBell(), later: clock.NewBell(), reading: make(chan struct{}, 1)}
}

// Kick makes the inbox be read soon, and Later within Soon.
func (i *Inbox) Kick() { i.bell.Ring() }

// Later makes the inbox be read within Soon.
func (i *Inbox) Later() { i.later.Ring() }

// Run reads until the context ends.
func (i *Inbox) Run() {
	watch := clock.Watch{Bell: i.bell, Later: i.later, Soon: i.Soon, Every: i.Every}
	watch.Run(i.Context, func() error {
		i.reading <- struct{}{}
		defer func() { <-i.reading }()
		return i.read(i.Office.Begin(i.Clock.Now(), i.Boxes(false)))
	})
}

// HearSince delivers the messages of a box for the runs of a workflow ID, or all if it is "", that
// were durable at a time. It returns an error only if the engine stops.
func (i *Inbox) HearSince(box *post.Box, workflowID string, at int64) error {
	if box.HeardSince(at) {
		return nil
	}
	box.Ask(workflowID)
	// Only one look runs at a time: a second one could deliver again what the first has
	// consumed.
	i.reading <- struct{}{}
	defer func() { <-i.reading }()
	if box.Heard(at, workflowID) {
		return nil
	}
	if err := i.read(box.BeginAsked(i.Clock.Now(), workflowID, i.Boxes(true))); err != nil {
		return err
	}
	box.Heard(at, workflowID) // nobody asks any more
	return nil
}

// read reads the pages of a look and delivers messages that were not delivered before.
func (i *Inbox) read(l *post.Look) error {
	defer l.End()
	owned := l.Locations()
	if len(owned) == 0 {
		return nil
	}
	next := store.InboxRead{Limit: i.Page}
	if i.long && l.Awaited() && i.Crowded() {
		l.Leaves(true)
		next.Of = l.Awaits()
	}
	for passed := next.Of != nil; ; {
		var page []store.Message
		err := i.Watch.Persist(i.Context, "reading messages", func() (err error) {
			page, err = i.Store.Inbox(i.Context, owned, next)
			return err
		})
		if err != nil {
			return err
		}
		if next.Of == nil {
			i.long = next.After > 0 || len(page) == next.Limit
		}
		crowded := len(page) == next.Limit && i.Crowded()
		leaves := l.Leaves(crowded)
		for _, m := range page {
			next.After = m.Sequence
			if box := i.Box(m.Partition); leaves && (box == nil || !l.Wants(box, &m)) {
				passed = true
				continue
			}
			if err := i.Route(m, l); err != nil {
				return err
			}
		}
		switch {
		case len(page) < next.Limit:
			l.Whole, l.Through = !passed, l.Awaited()
			return nil
		case crowded && !l.Awaited():
			return nil
		case leaves: // nor is the rest read: there may be many times as much as runs wait for
			next.Of = l.Awaits()
			passed = passed || next.Of != nil
		}
	}
}
