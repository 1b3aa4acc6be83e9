package storetest

import (
	"errors"
	"strings"

	"github.com/perdure/perdure/store"
)

// aloneChecks are about stores that one process serves at a time.
var aloneChecks = []check{
	{"Alone/SecondEngineIsRefusedUntilTheFirstIsGone", func(f *fixture) {
		second := f.open()
		for _, s := range []store.Store{second, f.store} {
			for _, supersede := range []bool{false, true} { // the first lives: that is known
				err := s.Join(f.Context(), store.Node{ID: "rival", Name: "the node", Group: f.group.Name, Supersede: supersede})
				inUse, is := errors.AsType[*store.InUseError](err)
				if !is {
					f.Fatalf("got %v, want an InUseError", err)
				}
				if inUse.Location != f.store.Info().Location || !strings.Contains(inUse.Holder, "the node") || store.Unavailable(err) {
					f.Errorf("the refusal does not say who holds what: %v", err)
				}
			}
		}
		f.commits(f.first(f.newRun()))
		f.must(f.store.Leave(f.Context(), f.node))
		f.must(second.Join(f.Context(), store.Node{ID: "node-2"}))
		f.must(second.Close())
		f.must(f.store.Join(f.Context(), store.Node{ID: "node-3"}))
	}},
	{"Alone/NobodyOwnsAnythingAfterClose", func(f *fixture) {
		run := f.created()
		f.reopen()
		f.refuses(f.turn(run, 2), store.ErrFenced)
		f.left(f.node)
	}},
	{"Alone/NeedsNoLease", func(f *fixture) {
		f.must(f.store.Leave(f.Context(), f.node))
		f.must(f.store.Join(f.Context(), store.Node{ID: "node-2"}))
		f.node = "node-2"
		f.claim()
		equal(f, f.member("node-2").Expires, store.Never)
		equal(f, f.member("node-2").Live, true)
	}},
}
