package engine

import (
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/store"
)

// A worker that dies takes many calls along, and its death is known only when its lease has
// expired. To wait until each call was lost twice, and alone, would cost many workers. So if
// two of them died with calls of an activity in short succession, it is doubted: workers of
// that build claim one call of all such activities at a time, until one survives. So it is
// known which one the next worker died with.

// workerBlame is what this node knows of workers that died.
type workerBlame struct {
	seen map[string]bool        // workers whose deaths were noted
	lost map[crashKey]time.Time // when the last one died with calls of an activity
}

// blameFor notes which activities workers had calls of that died. It is called by one
// goroutine.
func (e *Engine) blameFor(died map[string][]store.Task) {
	b := &e.goneWorkers.blame
	if b.seen == nil {
		b.seen, b.lost = map[string]bool{}, map[crashKey]time.Time{}
	}
	for worker, tasks := range died {
		build := ""
		if !b.seen[worker] {
			build = e.buildOfNode(worker)
		}
		if b.seen[worker] = true; build == "" {
			continue
		}
		of := map[string][]store.Task{}
		for _, t := range tasks {
			of[t.Name] = append(of[t.Name], t)
		}
		var doubted []store.Task
		for activity, its := range of {
			if e.blameActivity(crashKey{store.SwitchCrash, activity, build}, worker) {
				doubted = append(doubted, its...)
			}
		}
		if len(doubted) == 1 {
			e.blameAlone(doubted[0], worker)
		}
	}
}

// blameAlone notes that a call was the only one of a doubted activity when its worker died.
func (e *Engine) blameAlone(t store.Task, worker string) {
	e.noteCrash(&core.Crash{Name: t.Name, Node: worker, Limit: crashLimit}, core.AttemptID(t.Run, t.Number, t.Attempt), t.WorkflowID)
}

// blameActivity reports whether an activity was doubted when a worker died with calls of it. If
// it was not and another worker had died so before, it is doubted from now on.
func (e *Engine) blameActivity(key crashKey, worker string) (was bool) {
	b := &e.goneWorkers.blame
	before, is := b.lost[key]
	b.lost[key] = time.Now()
	e.mu.Lock()
	known := e.switches.crashes[key]
	was = known.held == nil && known.blamed(e.clock.Now())
	e.mu.Unlock()
	if known.held == nil && !was && is && time.Since(before) < suspects.Window {
		e.writeCrash(store.Switch{
			Kind: key.kind, Name: store.CrashName(key.name, key.build), Request: lostAgain + key.name + " with " + worker,
			Why: "workers died one after the other, each with calls of it",
		})
	}
	return was
}

// crashLimit is how many calls of an activity workers must have died with.
const crashLimit = 3
