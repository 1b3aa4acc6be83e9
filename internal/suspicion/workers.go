package suspicion

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

// workers is what this node knows of workers that died. It is used by one goroutine.
type workers struct {
	seen map[string]bool    // those whose deaths were noted
	lost map[code]time.Time // when the last one died with calls of an activity
}

// WorkersDied notes which activities workers had calls of that died. It is called by one
// goroutine at a time.
func (s *Room) WorkersDied(died map[string][]store.Task) {
	for worker, tasks := range died {
		build := ""
		if !s.workers.seen[worker] {
			build = s.buildOfNode(worker)
		}
		if s.workers.seen[worker] = true; build == "" {
			continue
		}
		of := map[string][]store.Task{}
		for _, t := range tasks {
			of[t.Name] = append(of[t.Name], t)
		}
		var doubted []store.Task
		for activity, its := range of {
			if s.doubt(code{store.SwitchCrash, activity, build}, worker) {
				doubted = append(doubted, its...)
			}
		}
		if len(doubted) == 1 { // the only call of a doubted activity
			t := doubted[0]
			s.noteCrash(suspects.Crash{Name: t.Name, Node: worker, Limit: suspects.Limit, Attempt: core.AttemptID(t.Run, t.Number, t.Attempt), WorkflowID: t.WorkflowID})
		}
	}
}

// doubt reports whether an activity was doubted when a worker died with calls of it. If it was
// not and another worker had died so before, it is doubted from now on.
func (s *Room) doubt(key code, worker string) (was bool) {
	before, is := s.workers.lost[key]
	s.workers.lost[key] = time.Now()
	s.mu.Lock()
	known := s.deaths[key]
	was = known.Held == nil && known.doubted(s.config.Clock.Now())
	s.mu.Unlock()
	if known.Held == nil && !was && is && time.Since(before) < suspects.Window {
		s.write(key, lostAgain+key.name+" with "+worker, "workers died one after the other, each with calls of it", false)
	}
	return was
}
