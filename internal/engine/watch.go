package engine

import (
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
)

// watcher looks whether runs have ended that other nodes serve, for all who wait
// for them here. It is guarded by the engine's mu.
type watcher struct {
	runs    map[string]*watched
	looking bool
	more    chan struct{} // told that there is another one
}

// watched is a run that somebody waits for.
type watched struct {
	ref  store.RunRef
	wait time.Duration // between two looks
	next time.Time
}

// A run is looked at often in its first moments and then every now and then; all
// that are due together in one question.
const (
	firstLook = 2 * time.Millisecond
	lastLook  = 50 * time.Millisecond
	watchPage = 500
)

// watch begins to look after a run of a partition that others serve. The engine's
// mu is held.
func (e *Engine) watch(ref store.RunRef) {
	w := &e.watcher
	if w.runs[ref.Run] == nil {
		w.runs[ref.Run] = &watched{ref: ref, wait: firstLook, next: time.Now().Add(firstLook)}
	}
	kick(w.more)
	if !w.looking && e.phase != stopped {
		w.looking = true
		e.watching.Go(e.watchLoop)
	}
}

func newWatcher() watcher {
	return watcher{runs: map[string]*watched{}, more: make(chan struct{}, 1)}
}

// watchLoop looks until nobody waits any more.
func (e *Engine) watchLoop() {
	for {
		refs, pause, over := e.dueLooks(time.Now())
		if over {
			return
		}
		for page := range slices.Chunk(refs, watchPage) {
			ended, err := e.db.Ended(e.ctx, page)
			if err != nil {
				continue // the next look may be luckier
			}
			for i := range ended {
				e.tellEnded(ended[i].ID, record.State(ended[i].RunState))
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-e.watcher.more:
		case <-e.ctx.Done():
		}
		timer.Stop()
	}
}

// dueLooks are the runs to look at now, and how long it is to the next ones.
func (e *Engine) dueLooks(now time.Time) (refs []store.RunRef, pause time.Duration, over bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w := &e.watcher
	pause = lastLook
	for run, look := range w.runs {
		if e.waiters[run] == nil {
			delete(w.runs, run)
			continue
		}
		if !look.next.After(now) {
			refs = append(refs, look.ref)
			look.wait = min(2*look.wait, lastLook)
			look.next = now.Add(look.wait)
		}
		pause = min(pause, look.next.Sub(now))
	}
	if len(w.runs) == 0 || e.ctx.Err() != nil {
		w.looking = false
		return nil, 0, true
	}
	return refs, pause, false
}

// tellEnded answers all who wait for a run.
func (e *Engine) tellEnded(run string, s core.State) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tellEndedLocked(run, s)
}

func (e *Engine) tellEndedLocked(run string, s core.State) {
	if w := e.waiters[run]; w != nil {
		for _, answer := range w.answers {
			answer <- s
		}
		delete(e.waiters, run)
	}
}
