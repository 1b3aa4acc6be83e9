package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/faulty"
)

// TestE117_WhateverWriteFails on the way of runs to another node and back, at the home or
// away: the write, its answer, or the process with it. All runs end, and nothing is done
// twice but what was under way in the process that died.
func TestE117_WhateverWriteFails(t *testing.T) {
	whateverWriteFails(t, needsFencing, 8, func(t *testing.T, w *world, k int, fault faulty.Fault, atHome bool) (hit bool) {
		return whateverFails(t, w, k, fault, atHome, fault == faulty.CrashBefore || fault == faulty.CrashAfter)
	})
}

// whateverWriteFails plays with a fault at each write of runs on their way between nodes, at
// their home and away, until play reports that there was no k-th write to hit. With -short it plays
// every slowStep-th, on a database, if there is a need of one, a third of these, and each fault other ones.
func whateverWriteFails(t *testing.T, n need, slowStep int, play func(t *testing.T, w *world, k int, fault faulty.Fault, atHome bool) (hit bool)) {
	names := map[faulty.Fault]string{faulty.FailBefore: "before", faulty.FailAfter: "after", faulty.CrashBefore: "crash before", faulty.CrashAfter: "crash after"}
	for i, fault := range []faulty.Fault{faulty.FailBefore, faulty.FailAfter, faulty.CrashBefore, faulty.CrashAfter} {
		for _, where := range []string{"home", "away"} {
			t.Run(names[fault]+" "+where, func(t *testing.T) {
				n.inAGroupOf(t, 4, func(t *testing.T, w *world) {
					first, step := 1, 1
					switch {
					case extent.Nightly():
					case testing.Short():
						first, step = 1+i, slowStep
					case w.in.onDisk:
						first, step = 1+i*slowStep, 3*slowStep
					}
					for k, more := first, true; more; k += step {
						w.anew()
						if more = play(t, w, k, fault, where == "home"); t.Failed() {
							t.Fatalf("at write %d", k)
						}
					}
				})
			})
		}
	}
}

func whateverFails(t *testing.T, w *world, k int, fault faulty.Fault, atHome, crash bool) (hit bool) {
	const runs = 8
	v := newTwoVersions()
	a := w.versionNode("a", "1", v.old, v.mark)
	for i := range runs {
		begin(t, a, v.old, fmt.Sprintf("old-%d", i), i)
	}
	pass(time.Second)
	b := w.versionNode("b", "2", v.new, v.mark)
	pass(time.Minute)
	at := w.plans[a]
	if atHome {
		at = w.plans[b]
	}
	k += at.Writes()
	at.At(k, fault)
	c := w.open(w.config())
	for i := range runs {
		signal(t, c, fmt.Sprintf("old-%d", i), "ignored", "", "now")
	}
	pass(2 * time.Second)
	for i := range runs {
		signal(t, c, fmt.Sprintf("old-%d", i), "proceed", "", "now")
	}
	pass(5 * time.Second)
	all := []*engine.Engine{a, b, c}
	select {
	case <-at.Crashed():
		dead, build, def := a, "1", v.old
		if atHome {
			dead, build, def = b, "2", v.new
		}
		w.kill(dead)
		all = append(all, w.versionNode("again", build, def, v.mark))
	default:
	}
	pass(2 * time.Minute)
	wantAll(t, c, "completed", "old-%d", runs)
	if !crash {
		v.wantOnce(t, "old-%d", runs, didOld)
	}
	for what, n := range v.done {
		if n > 2 {
			t.Errorf("%q was done %d times", what, n)
		}
	}
	hit = at.Writes() >= k
	at.Outage(false)
	for _, e := range all {
		if !hit && e != c {
			w.kill(e) // its fault is still to come
			continue
		}
		stop(t, e)
	}
	return hit
}
