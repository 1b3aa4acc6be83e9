package engine_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// pager is a database whose inbox takes several pages, and whose claims show up when the
// page is read on which they would have stood: a lower number may appear later.
type pager struct {
	store.Opener
	ended atomic.Bool // the end of an attempt was read
	hid   atomic.Bool // and its claim was not
}

func (p *pager) Open(ctx context.Context) (store.Store, error) {
	s, err := p.Opener.Open(ctx)
	return pages{s, p}, err
}

type pages struct {
	store.Store
	of *pager
}

func (p pages) Inbox(ctx context.Context, partitions []int, read store.InboxRead) ([]store.Message, error) {
	all, err := p.Store.Inbox(ctx, partitions, read)
	if p.of.ended.Load() {
		return all, err
	}
	if !slices.ContainsFunc(all, func(m store.Message) bool { return m.Kind == message.KindAttempt }) {
		return nil, err
	}
	p.of.ended.Store(true)
	return slices.DeleteFunc(all, func(m store.Message) bool {
		claim := m.Kind == store.KindClaimed
		p.of.hid.Store(p.of.hid.Load() || claim)
		return claim
	}), err
}

// TestE121_AnEndThatIsReadBeforeItsClaim: it counts. An inbox of several pages is not read
// at one moment, and what was posted first may be the last to be seen.
func TestE121_AnEndThatIsReadBeforeItsClaim(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, w *world) {
		x := newRendering(time.Second, activity.Retry(retry.Policy{MaxAttempts: 1}))
		w.patient = false
		plain := w.db
		db := &pager{Opener: plain}
		w.db = db
		e := w.owner(x.flow)
		w.db = plain
		w.worker("c", "gpu", 3, x.activity)
		begin(t, e, x.flow, "run", 1)
		pass(time.Minute)
		if !db.hid.Load() {
			t.Fatal("no claim was hidden")
		}
		if d := describe(t, e, "run"); d.Status != "completed" {
			t.Fatalf("the run is %s: %s", d.Status, pendingOf(d))
		}
		if got := outcomes(t, e, "run"); got != "1.1 completed succeeded" {
			t.Errorf("the attempts are %s", got)
		}
		if n := w.inInbox(); n != 0 {
			t.Errorf("%d messages are left", n)
		}
	})
}
