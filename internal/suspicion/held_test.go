package suspicion

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
)

// TestE3_WhatIsHeldOnABuildIsShownWhileThatIsInUse: calls of an activity that ended their processes
// start no attempts on that build. Whoever asks which activities are paused hears of it while a
// process of the group has the build, and not when all of them are gone.
func TestE3_WhatIsHeldOnABuildIsShownWhileThatIsInUse(t *testing.T) {
	const lease = time.Minute
	node := func(group string) func(t *testing.T, db store.Store) {
		return func(t *testing.T, db store.Store) {
			if err := db.Join(t.Context(), store.Node{ID: "n", Name: "n", Group: group, Build: "1", Lease: lease}); err != nil {
				t.Fatal(err)
			}
		}
	}
	worker := func(group string, left bool) func(t *testing.T, db store.Store) {
		return func(t *testing.T, db store.Store) {
			serves, err := json.Marshal(record.Serves{Build: "1"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.Attend(t.Context(), store.Worker{ID: "w", Name: "w", Group: group, Lease: lease, Serves: serves, Left: left}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		has   func(t *testing.T, db store.Store)
		later time.Duration
		build string // of who asks
		want  string
	}{
		"nobody has it":              {has: func(*testing.T, store.Store) {}},
		"a node has it":              {has: node(""), want: "render"},
		"the node has died":          {has: node(""), later: 2 * lease},
		"a node of another group":    {has: node("blue")},
		"a worker has it":            {has: worker("", false), want: "render"},
		"the worker has died":        {has: worker("", false), later: 2 * lease},
		"the worker has left":        {has: worker("", true)},
		"a worker of another group":  {has: worker("blue", false)},
		"who asks has it and serves": {has: func(*testing.T, store.Store) {}, build: "1", want: "render"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, err := memory.New().Open(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, group := range []string{"", "blue"} {
					if _, err := db.Group(t.Context(), group); err != nil {
						t.Fatal(err)
					}
				}
				c.has(t, db)
				if _, err := db.Switch(t.Context(), store.Switch{Kind: store.SwitchCrash, Name: store.CrashName("render", "1"), Off: true, Request: diedAlone + "run/1.1"}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(c.later)
				s := room(t, db, "client", c.build)
				if err := s.config.Reread(t.Context()); err != nil {
					t.Fatal(err)
				}
				paused := map[string]store.Switch{}
				if err := s.HeldAnywhere(t.Context(), c.build != "", paused); err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(slices.Collect(maps.Keys(paused)), " "); got != c.want {
					t.Errorf("held: %q, want %q", got, c.want)
				}
			})
		})
	}
}
