package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/store"
)

// lifeChecks are about opening, closing and using a store from many places.
var lifeChecks = []check{
	{"Life/Info", func(f *fixture) {
		info := f.store.Info()
		if info.Kind == "" || info.Location == "" || info.Partitions < 1 || info.Domain == nil {
			f.Fatalf("%+v", info)
		}
		for p := range info.Partitions {
			equal(f, info.Domain(p), info.Domain(p))
		}
	}},
	{"Life/ReopenKeepsEverything", func(f *fixture) {
		run := f.newRun()
		t := f.first(run, calling(store.Call{Number: 1, State: store.Queued}), attempting(store.Attempt{Call: 1, Number: 1}))
		f.commits(t)
		f.started()
		before := f.dump(run.ID)
		owners := f.owners()
		f.reopen()
		equal(f, f.dump(run.ID), before)
		for i, o := range f.owners() {
			o.Ended, o.Over = owners[i].Ended, owners[i].Over // a process may be known to be over when it closes the database
			equal(f, o, owners[i])
		}
		old := f.turn(run, 2)
		f.join("node-2")
		f.refuses(old, store.ErrFenced)
		f.commits(t)
		f.commits(f.turn(run, 2))
		last := f.inbox()[0].Sequence
		f.started()
		if next := f.inbox()[1].Sequence; next <= last {
			f.Errorf("number %d after %d", next, last)
		}
	}},
	{"Life/TheSecretStays", func(f *fixture) {
		secret := must(f.store.Secret(f.Context()))(f)
		if len(secret) < 32 || bytes.Equal(secret, make([]byte, len(secret))) {
			f.Errorf("the secret is %x", secret)
		}
		f.reopen()
		equal(f, must(f.store.Secret(f.Context()))(f), secret)
	}},
	{"Life/CloseEndsEveryVerb", func(f *fixture) {
		run := f.created()
		f.must(f.store.Close())
		f.must(f.store.Close())
		for name, err := range verbs(f.Context(), f.store, run, f.partition) {
			if !errors.Is(err, store.ErrStoreClosed) {
				f.Errorf("%s after Close: %v", name, err)
			}
		}
		f.store.Info() // is known for ever
	}},
	{"Life/CloseWhileInUse", func(f *fixture) {
		run := f.created()
		uses := []func() error{
			func() error { return errorOf(f.store.Load(f.Context(), f.partition, run.ID)) },
			func() error { return errorOf(f.store.Commit(f.Context(), []store.Turn{f.first(f.newRun())})) },
		}
		atOnce(10, func(i int) {
			if i >= 8 {
				f.well(f.store.Close())
				return
			}
			var err error
			for err == nil {
				err = uses[i%2]()
			}
			if !errors.Is(err, store.ErrStoreClosed) {
				f.Error(err)
			}
		})
	}},
	{"Life/ManyCommittersAndReaders", func(f *fixture) {
		const committers, turns = 6, 12
		client := f.open()
		var wg sync.WaitGroup
		stop, cancel := context.WithCancel(f.Context())
		for range 3 {
			wg.Go(func() {
				for stop.Err() == nil {
					runs, err := client.List(f.Context(), store.Filter{Limit: 5})
					if !f.well(err) {
						return
					}
					for _, r := range runs {
						record, err := client.Load(f.Context(), f.partition, r.ID)
						if !f.well(err) {
							return
						}
						for i, t := range record.Turns {
							if t.Number != int64(i+1) {
								f.Errorf("run %s has turn %d at place %d", r.ID, t.Number, i)
							}
						}
						if want := int64(len(record.Turns)); record.Run.Wake != want {
							f.Errorf("run %s has %d turns but the state of turn %d", r.ID, want, record.Run.Wake)
						}
					}
				}
			})
		}
		atOnce(committers, func(int) {
			run := f.newRun()
			for n := int64(1); n <= turns; n++ {
				t := f.turn(run, n, stating(store.RunState{Status: store.Running, Wake: n}))
				if n == 1 {
					t.Create = &run
				}
				m := store.Message{Partition: f.partition, WorkflowID: run.WorkflowID, Key: fmt.Sprint(n)}
				if !f.well(f.tried(t, t)) || !f.well(client.Post(f.Context(), m)) {
					return
				}
			}
		})
		cancel()
		wg.Wait()
		inbox := f.inbox()
		equal(f, len(inbox), committers*turns)
		for i := range inbox[1:] {
			if inbox[i].Sequence >= inbox[i+1].Sequence {
				f.Fatal("the inbox is out of order")
			}
		}
	}},
	{"Life/RivalsForOneWorkflowID", func(f *fixture) {
		const rivals = 8
		template := f.newRun()
		var won atomic.Int32
		atOnce(rivals, func(i int) {
			run := f.newRun(rivaling(template))
			var err error
			if i%2 == 0 {
				err = f.store.Create(f.Context(), run)
			} else {
				err = f.tried(f.first(run))
			}
			if err == nil {
				won.Add(1)
			} else if _, is := errors.AsType[*store.ConflictError](err); !is {
				f.Error(err)
			}
		})
		equal(f, won.Load(), 1)
	}},
}

func verbs(ctx context.Context, s store.Store, run store.Run, p int) map[string]error {
	errs := map[string]error{
		"Join":    s.Join(ctx, store.Node{ID: "n", Lease: time.Hour}),
		"Leave":   s.Leave(ctx, "n"),
		"Release": s.Release(ctx, "n", []int{p}),
		"Create":  s.Create(ctx, run),
		"Post":    s.Post(ctx, store.Message{Partition: p, WorkflowID: run.WorkflowID, Key: "k"}),
		"Listen":  s.Listen(ctx, func(store.News) {}),
	}
	_, errs["Renew"] = s.Renew(ctx, store.Renewal{Node: "n", Next: 1})
	_, errs["Claim"] = s.Claim(ctx, "n", []int{p})
	_, errs["Commit"] = s.Commit(ctx, nil)
	_, errs["Take"] = s.Take(ctx, p, "asker")
	_, errs["Group"] = s.Group(ctx, "g")
	_, errs["Secret"] = s.Secret(ctx)
	_, errs["Posted"] = s.Posted(ctx, p, "asker")
	_, errs["Ended"] = s.Ended(ctx, []store.RunRef{{Partition: p, Run: run.ID}})
	_, errs["Nodes"] = s.Nodes(ctx)
	_, errs["Floor"] = s.Floor(ctx, nil, "", 1)
	for name, l := range looks(ctx, s, run, p) {
		errs[name] = l.err
	}
	return errs
}

// look is how much a verb has found.
type look struct {
	held int
	err  error
}

func looked[T any](found []T, err error) look { return look{len(found), err} }

// looks asks the verbs that look at what a partition holds, of a run or of all.
func looks(ctx context.Context, s store.Store, run store.Run, p int) map[string]look {
	_, find := s.Find(ctx, p, run.WorkflowID, "")
	_, load := s.Load(ctx, p, run.ID)
	counts, counted := s.Counts(ctx, []int{p}, 0)
	return map[string]look{
		"Find":     {0, find},
		"Load":     {0, load},
		"Counts":   {len(counts.Runs), counted},
		"History":  looked(s.History(ctx, p, run.ID, 0, 0)),
		"Calls":    looked(s.Calls(ctx, p, run.ID)),
		"Attempts": looked(s.Attempts(ctx, p, run.ID, store.AttemptRange{})),
		"Owners":   looked(s.Owners(ctx, p)),
		"Due":      looked(s.Due(ctx, []int{p}, -1, store.Never, 0)),
		"Inbox":    looked(s.Inbox(ctx, []int{p}, store.InboxRead{})),
		"List":     looked(s.List(ctx, store.Filter{Partitions: []int{p}})),
		"Ledger":   looked(s.Ledger(ctx, store.LedgerFilter{Partitions: []int{p}})),
		"Errors":   looked(s.Errors(ctx, store.LedgerFilter{Partitions: []int{p}})),
		"Tallies":  looked(s.Tallies(ctx, store.TallyFilter{Partitions: []int{p}})),
		"Waiting":  looked(s.Waiting(ctx, store.CallFilter{Partitions: []int{p}, State: store.Backoff})),
	}
}
