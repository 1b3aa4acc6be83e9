package suspicion

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/dispatch"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

// TestE3_AnActivityWithWhichWorkersDieInARowIsDoubted: its workers then claim one call of it at a
// time, on all nodes of that build, until one survives. One death is not enough, and neither are
// two that have nothing to do with each other.
func TestE3_AnActivityWithWhichWorkersDieInARowIsDoubted(t *testing.T) {
	render, other := []store.Task{{Name: "render"}, {Name: "render"}}, []store.Task{{Name: "other"}}
	for name, c := range map[string]struct {
		first, second []store.Task // of the workers that die
		same          bool         // the same worker is seen dead again
		between       time.Duration
		doubted       bool
	}{
		"one after the other": {first: render, second: render, doubted: true},
		"long after":          {first: render, second: render, between: suspects.Window + 1},
		"with another":        {first: render, second: other},
		"one, seen twice":     {first: render, second: render, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, err := memory.New().Open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				here, there, newer := room(t, db, "a", "1"), room(t, db, "b", "1"), room(t, db, "c", "2")
				second := "w2"
				if c.same {
					second = "w1"
				}
				for _, worker := range []string{"w1", second} {
					serves, err := json.Marshal(record.Serves{Build: "1"})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := db.Attend(t.Context(), store.Worker{ID: worker, Name: worker, Lease: time.Second, Serves: serves}); err != nil {
						t.Fatal(err)
					}
				}
				here.WorkersDied(map[string][]store.Task{"w1": c.first})
				doubts(t, "after one death", here, false)
				time.Sleep(c.between)
				here.WorkersDied(map[string][]store.Task{second: c.second})
				doubts(t, "after the second", here, c.doubted)
				for what, other := range map[string]*Room{"another node": there, "another build": newer} {
					if err := other.config.Reread(t.Context()); err != nil {
						t.Fatal(err)
					}
					doubts(t, what, other, c.doubted && what == "another node")
				}
				told := 0
				here.SurvivedInQueue("render", "run/1.1", func() {
					told++
					if log, err := db.Switches(t.Context(), "", 0); err != nil || !strings.HasPrefix(log[len(log)-1].Request, survived) {
						t.Errorf("the next call may begin before the log says that one has survived: %+v, %v", log, err)
					}
				})
				synctest.Wait()
				if (told == 1) != c.doubted {
					t.Errorf("the next call may begin: that is said %d times", told)
				}
				doubts(t, "when a call has survived", here, false)
			})
		})
	}
}

func doubts(t *testing.T, when string, s *Room, want bool) {
	t.Helper()
	if deaths, is, _ := s.Doubted("render"); is != want || deaths != 0 {
		t.Errorf("%s: the activity is doubted: %v, and was alone at %d deaths; want %v and none", when, is, deaths, want)
	}
}

// room is that of a node that serves.
func room(t *testing.T, db store.Store, node, build string) *Room {
	quiet := logs.New(slog.New(slog.DiscardHandler), false)
	var s *Room
	var log placement.Switches
	s = New(Config{
		Config: placement.Config{Context: t.Context(), Store: db, Build: build, Watch: outage.New(quiet)},
		Node:   node, Clock: clock.New(time.Now().UnixNano()), Log: quiet,
		Slots: dispatch.NewSlots(1, func() bool { return true }),
		Go:    func(f func()) { go f() },
		Reread: func(ctx context.Context) error {
			all, err := db.Switches(ctx, "", log.Read())
			fresh, _ := log.Add(all)
			s.Add(fresh)
			return err
		},
	})
	s.Begin(time.Now())
	return s
}
