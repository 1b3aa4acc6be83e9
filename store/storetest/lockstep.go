package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure/store"
	"pgregory.net/rapid"
)

// Lockstep plays the same random operations against two stores and demands the
// same answers. Each opener function returns a new, empty database with one
// partition and the given clock.
func Lockstep(t *testing.T, reference, subject func(t *rapid.T, clock func() int64) store.Opener) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &lockstep{T: rt, ctx: context.Background(), now: 1_000}
		for i, opener := range []store.Opener{reference(rt, l.clock), subject(rt, l.clock)} {
			l.openers[i] = opener
			l.open(i)
		}
		defer func() {
			for _, s := range l.stores {
				s.Close()
			}
		}()
		l.join()
		rt.Repeat(map[string]func(*rapid.T){
			"Commit":  l.commit,
			"Create":  l.create,
			"Post":    l.post,
			"Claim":   func(*rapid.T) { l.claim() },
			"Reopen":  func(*rapid.T) { l.reopen() },
			"Leave":   func(*rapid.T) { l.leave() },
			"Clock":   func(t *rapid.T) { l.now += rapid.Int64Range(-500, 1_000).Draw(t, "by") },
			"List":    l.list,
			"Due":     l.due,
			"History": l.page,
			"Compare": func(*rapid.T) { l.compare() },
		})
		l.compare()
	})
}

type lockstep struct {
	*rapid.T
	ctx     context.Context
	openers [2]store.Opener
	stores  [2]store.Store
	now     int64
	epoch   int64
	nodes   int
	joined  bool
	sent    []store.Turn // for repetition
}

func (l *lockstep) clock() int64 { return l.now }

func (l *lockstep) open(i int) {
	s, err := l.openers[i].Open(l.ctx)
	if err != nil {
		l.Fatal(err)
	}
	l.stores[i] = s
}

// both asks both stores and compares what they say, errors by their kind.
func both[T any](l *lockstep, what string, ask func(s store.Store) (T, error)) T {
	var answers [2]T
	var said [2]string
	for i, s := range l.stores {
		answer, err := ask(s)
		answers[i] = answer
		said[i] = fmt.Sprintf("%+v, error: %s", any(answer), kind(err))
	}
	if said[0] != said[1] {
		l.Fatalf("%s:\nreference %s\nsubject   %s", what, said[0], said[1])
	}
	return answers[0]
}

// kind names an error so that those of two stores can be compared.
func kind(err error) string {
	for _, known := range []error{store.ErrFenced, store.ErrStale, store.ErrNotFound, store.ErrClosed, store.ErrStoreClosed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	var conflict *store.ConflictError
	var hook *store.HookError
	switch {
	case err == nil:
		return "none"
	case errors.As(err, &conflict):
		return "conflict with " + conflict.Existing.ID
	case errors.As(err, &hook):
		return "hook"
	}
	return "other"
}

func (l *lockstep) join() {
	l.nodes++
	both(l, "Join", func(s store.Store) (any, error) {
		return nil, s.Join(l.ctx, store.Node{ID: fmt.Sprint("node-", l.nodes)})
	})
	l.joined = true
	l.claim()
}

func (l *lockstep) claim() {
	if !l.joined {
		l.join()
		return
	}
	owned := both(l, "Claim", func(s store.Store) ([]store.Ownership, error) {
		return s.Claim(l.ctx, fmt.Sprint("node-", l.nodes), []int{0})
	})
	l.epoch = owned[0].Epoch
}

func (l *lockstep) leave() {
	both(l, "Leave", func(s store.Store) (any, error) { return nil, s.Leave(l.ctx, fmt.Sprint("node-", l.nodes)) })
	l.joined = false
}

func (l *lockstep) reopen() {
	both(l, "Close", func(s store.Store) (any, error) { return nil, s.Close() })
	l.open(0)
	l.open(1)
	l.joined = false
}

// A small world makes operations meet.
var (
	aRun      = rapid.SampledFrom([]string{"r1", "r2", "r3", "r4", "r5", "r6"})
	aWorkflow = rapid.SampledFrom([]string{"w1", "w2", "w3"})
	aStatus   = rapid.SampledFrom([]store.Status{store.Running, store.Running, store.Parked, store.Completed, store.Continued})
	aWake     = rapid.SampledFrom([]int64{store.Hot, store.Hot, store.Never, 10, 20, 30})
	someBytes = rapid.SampledFrom([][]byte{nil, []byte("text"), {0xff, 0}, []byte("ü")})
)

func aState(t *rapid.T) store.RunState {
	s := store.RunState{Status: aStatus.Draw(t, "status"), Wake: aWake.Draw(t, "wake"), Detail: someBytes.Draw(t, "detail")}
	if !s.Status.Open() {
		s.Closed = 99
	}
	return s
}

func aNewRun(t *rapid.T) store.Run {
	id, workflow := aRun.Draw(t, "run"), aWorkflow.Draw(t, "workflow")
	// Chains are few too, so that they sometimes go on.
	return store.Run{ID: id, WorkflowID: workflow, Type: "type of " + workflow, Chain: "chain of " + workflow, Attempt: 1,
		Start: someBytes.Draw(t, "start"), Created: 7, RunState: aState(t)}
}

func aMessage(t *rapid.T) store.Message {
	m := store.Message{WorkflowID: aWorkflow.Draw(t, "to"), Key: rapid.SampledFrom([]string{"k1", "k2", "k3"}).Draw(t, "key"), Data: someBytes.Draw(t, "data")}
	if rapid.IntRange(0, 3).Draw(t, "direct") == 0 {
		m.Run = aRun.Draw(t, "only")
	}
	return m
}

func (l *lockstep) aTurn(t *rapid.T) store.Turn {
	if len(l.sent) > 0 && rapid.IntRange(0, 4).Draw(t, "again") == 0 {
		return rapid.SampledFrom(l.sent).Draw(t, "repeated")
	}
	turn := store.Turn{
		Epoch:  l.epoch + rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 0, -1, 1}).Draw(t, "epoch"),
		Run:    aRun.Draw(t, "run"),
		Number: rapid.SampledFrom([]int64{0, 1, 1, 2, 2, 3}).Draw(t, "number"),
		Time:   5, Events: someBytes.Draw(t, "events"),
		CommitID: rapid.Int64Range(1, 2).Draw(t, "commit"),
	}
	some := func(what string, n int) bool { return rapid.IntRange(0, n).Draw(t, what) == 0 }
	if some("create", 1) {
		run := aNewRun(t)
		turn.Create = &run
		if !some("successor", 2) {
			turn.Run = run.ID
		}
	}
	if some("state", 1) {
		state := aState(t)
		turn.State = &state
	}
	for some("call", 2) {
		turn.Calls = append(turn.Calls, store.Call{Number: rapid.Int64Range(1, 3).Draw(t, "call"), Due: rapid.Int64Range(0, 3).Draw(t, "due"),
			State: rapid.SampledFrom([]store.CallState{store.Queued, store.Backoff}).Draw(t, "state")})
	}
	for some("close", 2) {
		turn.Closed = append(turn.Closed, rapid.Int64Range(1, 3).Draw(t, "closed"))
	}
	for some("attempt", 2) {
		a := store.Attempt{Call: rapid.Int64Range(1, 2).Draw(t, "of"), Number: rapid.IntRange(1, 4).Draw(t, "attempt"), Data: someBytes.Draw(t, "data")}
		if some("prune", 2) {
			a.Prune = rapid.IntRange(0, a.Number-1).Draw(t, "prune")
		}
		turn.Attempts = append(turn.Attempts, a)
	}
	for some("consume", 2) {
		turn.Consumed = append(turn.Consumed, rapid.Int64Range(1, 10).Draw(t, "consumed"))
	}
	for some("message", 2) {
		turn.Messages = append(turn.Messages, aMessage(t))
	}
	if some("hook", 5) {
		fails := some("fails", 1)
		turn.Hook = func(any) error {
			if fails {
				return errors.New("refused")
			}
			return nil
		}
	}
	return turn
}

func (l *lockstep) commit(t *rapid.T) {
	var turns []store.Turn
	for range rapid.IntRange(1, 6).Draw(t, "turns") {
		turns = append(turns, l.aTurn(t))
	}
	l.sent = append(l.sent, turns...)
	both(l, fmt.Sprintf("Commit of %+v", turns), func(s store.Store) (string, error) {
		result, err := s.Commit(l.ctx, turns)
		said := fmt.Sprint(result.Now)
		for _, err := range result.Errors {
			said += ", " + kind(err)
		}
		return said, err
	})
}

func (l *lockstep) create(t *rapid.T) {
	run := aNewRun(t)
	both(l, fmt.Sprintf("Create of %+v", run), func(s store.Store) (any, error) { return nil, s.Create(l.ctx, run) })
}

func (l *lockstep) post(t *rapid.T) {
	m := aMessage(t)
	both(l, fmt.Sprintf("Post of %+v", m), func(s store.Store) (any, error) { return nil, s.Post(l.ctx, m) })
}

func (l *lockstep) list(t *rapid.T) {
	filter := store.Filter{Limit: rapid.IntRange(0, 3).Draw(t, "limit")}
	if rapid.Bool().Draw(t, "by status") {
		filter.Status = rapid.SliceOfN(aStatus, 1, 3).Draw(t, "statuses")
	}
	if rapid.Bool().Draw(t, "by prefix") {
		filter.IDPrefix = rapid.SampledFrom([]string{"w", "w1", "x"}).Draw(t, "prefix")
	}
	if rapid.Bool().Draw(t, "by call") {
		filter.Call = store.Backoff
	}
	if rapid.Bool().Draw(t, "page") {
		filter.Before = aRun.Draw(t, "before")
	}
	both(l, fmt.Sprintf("List by %+v", filter), func(s store.Store) ([]store.Run, error) { return s.List(l.ctx, filter) })
}

func (l *lockstep) due(t *rapid.T) {
	after, until, limit := rapid.Int64Range(-1, 31).Draw(t, "after"), rapid.Int64Range(-1, 31).Draw(t, "until"), rapid.IntRange(0, 3).Draw(t, "limit")
	both(l, fmt.Sprint("Due ", after, until, limit), func(s store.Store) ([]store.Wake, error) { return s.Due(l.ctx, 0, after, until, limit) })
}

func (l *lockstep) page(t *rapid.T) {
	run, after, limit := aRun.Draw(t, "run"), rapid.Int64Range(0, 3).Draw(t, "after"), rapid.IntRange(0, 2).Draw(t, "limit")
	both(l, fmt.Sprint("History ", run, after, limit), func(s store.Store) ([]store.TurnRow, error) { return s.History(l.ctx, 0, run, after, limit) })
	both(l, fmt.Sprint("Inbox ", after, limit), func(s store.Store) ([]store.Message, error) { return s.Inbox(l.ctx, 0, after, limit) })
}

// compare demands that both stores hold the same.
func (l *lockstep) compare() {
	for _, run := range []string{"r1", "r2", "r3", "r4", "r5", "r6"} {
		both(l, "Load of "+run, func(s store.Store) (store.Record, error) {
			record, err := s.Load(l.ctx, 0, run)
			if err != nil {
				return store.Record{}, err
			}
			return *record, nil
		})
		both(l, "Attempts of "+run, func(s store.Store) ([]store.Attempt, error) { return s.Attempts(l.ctx, 0, run, 0) })
	}
	for _, workflow := range []string{"w1", "w2", "w3"} {
		both(l, "Find of "+workflow, func(s store.Store) (string, error) {
			run, err := s.Find(l.ctx, 0, workflow, "")
			return fmt.Sprintf("%+v", run), err
		})
	}
	both(l, "Inbox", func(s store.Store) ([]store.Message, error) { return s.Inbox(l.ctx, 0, 0, 0) })
	both(l, "Due", func(s store.Store) ([]store.Wake, error) { return s.Due(l.ctx, 0, -1, store.Never, 0) })
	both(l, "List", func(s store.Store) ([]store.Run, error) { return s.List(l.ctx, store.Filter{}) })
	both(l, "Owners", func(s store.Store) ([]store.Ownership, error) { return s.Owners(l.ctx, 0) })
	both(l, "Counts", func(s store.Store) (store.Counts, error) { return s.Counts(l.ctx) })
}
