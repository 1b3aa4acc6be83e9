package suspicion

import (
	"strings"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/store"
)

// Code that ends its process whoever runs it is found as a whole (see suspects.Shared): an
// activity or an inline step by its calls, a workflow by its runs. What is known of it is in
// the group's log of switches, by name and build: the deaths of calls or runs that were alone,
// and that some survived. The entry of the death that convicts it is Off, and then nodes of
// that build start no attempt of the activity, as if a person had paused it, and park the runs
// of the workflow. A person lets it go by resuming the activity or a run; a node of another
// build is not concerned.
//
// While calls of an activity are suspects here, or wait to be tried, no other call of it
// starts on this node: it would end the process before the suspects are tried.

// code is an activity, an inline step or a workflow, on one build.
type code struct{ kind, name, build string }

// deaths is what the log says about code that ended processes.
type deaths map[code]Deaths

// Deaths is what is known of code on one build.
type Deaths struct {
	suspects.Shared
	Held *store.Switch // nil: it is not held
	last int64         // when the last of them died
	lost bool          // workers died one after the other, each with calls of it
}

// doubted reports whether the code is under suspicion.
func (d *Deaths) doubted(now int64) bool { return (d.Deaths() > 0 || d.lost) && !d.old(now) }

// died adds a death. Those long before it were of something else.
func (d *Deaths) died(culprit string, at int64) {
	if d.old(at) {
		d.Shared = suspects.Shared{}
	}
	d.Died(culprit)
	d.last = max(d.last, at)
}

// old reports whether the deaths do not count any more.
func (d *Deaths) old(now int64) bool {
	return d.Held == nil && now-d.last > int64(suspects.Window)
}

// Requests of entries of these kinds begin with what they say. The ID of the attempt follows,
// or that of the run and of the node.
const (
	diedAlone = "died "
	survived  = "survived "
	letGo     = "let go "
	lostAgain = "lost again "
)

func runOn(run, node string) string { return run + " on " + node }

// add applies an entry of the log, and reports whether it lets an activity go.
func (c deaths) add(w store.Switch) (released bool) {
	if w.Kind == store.SwitchActivity && !w.Off {
		for key, of := range c {
			if key.kind == store.SwitchCrash && key.name == w.Name {
				released = released || of.Held != nil
				delete(c, key)
			}
		}
		return released
	}
	if w.Kind != store.SwitchCrash && w.Kind != store.SwitchWorkflow {
		return false
	}
	name, build := store.OfCrash(w.Name)
	key := code{w.Kind, name, build}
	of := c[key]
	if id, died := strings.CutPrefix(w.Request, diedAlone); died {
		of.died(key.culprit(id), w.Time)
	} else if strings.HasPrefix(w.Request, lostAgain) {
		of.lost, of.last = true, w.Time
	} else if strings.HasPrefix(w.Request, letGo) || of.Held == nil {
		delete(c, key)
		return of.Held != nil
	}
	if w.Off {
		of.Held = &w
	}
	c[key] = of
	return false
}

// culprit returns the call or run that an entry names.
func (k code) culprit(id string) string {
	if k.kind == store.SwitchWorkflow {
		run, _, _ := strings.Cut(id, runOn("", ""))
		return run
	}
	if dot := strings.LastIndexByte(id, '.'); dot >= 0 {
		return id[:dot] // of the attempt's ID
	}
	return id
}

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
