package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/store"
)

// listenChecks are about Listen.
var listenChecks = []check{
	{"Listen/BeginsWithEverything", func(f *fixture) {
		l := f.listen(f.store)
		l.expect(store.NewsMessage | store.NewsNodes)
	}},
	{"Listen/HearsPostsCreatesAndMessages", func(f *fixture) {
		run, there := f.created(), f.elsewhere()
		client := f.open()
		for _, ear := range []store.Store{f.store, client} {
			l := f.listen(ear)
			for _, speak := range []func() error{
				func() error { return client.Create(f.Context(), f.newRun()) },
				func() error { return f.store.Create(f.Context(), f.newRun()) },
				func() error { return client.Create(f.Context(), f.newRun(waking(store.InLine(0, 1_000_000)))) },
				func() error {
					return client.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: "a"})
				},
				func() error {
					return f.store.Post(f.Context(), store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: "b"})
				},
				func() error { return f.commit(f.speaking(run, f.partition))[0] },
				func() error { return f.commit(f.speaking(run, there))[0] },
			} {
				l.settle()
				f.must(speak())
				l.expect(store.NewsMessage)
			}
		}
	}},
	{"Listen/HearsOfNodes", func(f *fixture) {
		client := f.open()
		node := f.node
		for i, ear := range []store.Store{f.store, client} {
			l := f.listen(ear)
			next := f.describe(fmt.Sprint("next-", i))
			for _, act := range []func() error{
				func() error { return f.store.Release(f.Context(), node, []int{f.partition}) },
				func() error { return f.store.Leave(f.Context(), node) },
				func() error { return f.store.Join(f.Context(), next) },
			} {
				l.settle()
				f.must(act())
				l.expect(store.NewsNodes)
			}
			node = next.ID
			f.must(errorOf(f.store.Claim(f.Context(), node, []int{f.partition})))
		}
	}},
	{"Listen/EndsWithItsContext", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.store.Listen(ctx, func(store.News) {}) }()
		cancel()
		f.is(<-ended, context.Canceled)
	}},
	{"Listen/EndsWithTheStore", func(f *fixture) {
		l := f.listen(f.store)
		f.must(f.store.Close())
		f.is(<-l.ended, store.ErrStoreClosed)
	}},
}

// speaking is the next turn of a run, with a message to a partition.
func (f *fixture) speaking(run store.Run, to int) store.Turn {
	f.Helper()
	t := f.turn(run, int64(len(f.history(run.ID))+1))
	t.Messages = []store.Message{{Partition: to, WorkflowID: "w", Key: fmt.Sprint(t.Number)}}
	return t
}

// listening is a Listen under way.
type listening struct {
	f     *fixture
	heard chan store.News
	ended chan error
}

func (f *fixture) listen(s store.Store) *listening {
	l := &listening{f, make(chan store.News, 1000), make(chan error, 1)}
	go func() {
		l.ended <- s.Listen(f.Context(), func(news store.News) {
			select {
			case l.heard <- news:
			default: // more than anybody reads
			}
		})
	}()
	return l
}

// expect waits until all of the news was heard, be it in several calls.
func (l *listening) expect(news store.News) {
	l.f.Helper()
	l.until(news, func(missing store.News) bool { return missing == 0 })
}

// expectOne waits until one of the kinds of news was heard: who cannot tell them apart
// says the more urgent.
func (l *listening) expectOne(of store.News) {
	l.f.Helper()
	l.until(of, func(missing store.News) bool { return missing != of })
}

// until waits until enough of the news was heard.
func (l *listening) until(news store.News, enough func(missing store.News) bool) {
	l.f.Helper()
	late := time.After(30 * time.Second) // it should be 100 ms
	for missing := news; !enough(missing); {
		select {
		case heard := <-l.heard:
			missing &^= heard
		case err := <-l.ended:
			l.f.Fatalf("Listen ended: %v", err)
		case <-late:
			l.f.Fatalf("of news %b, %b was not heard", news, missing)
		}
	}
}

// settle waits until the listener has been quiet for a while, so that what it
// hears next is new. One that is never quiet passes too: it wakes more often than
// it must, which the contract allows.
func (l *listening) settle() {
	for range 20 {
		select {
		case <-l.heard:
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}
