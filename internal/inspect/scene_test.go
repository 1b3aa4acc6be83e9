package inspect

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/store"
)

// look returns an Inspector of a scene.
func look(s *roomtest.Scene) *Inspector {
	return New(s.DB, Config{
		Group: s.Group, Now: s.Now, Usable: func() error { return nil },
		Paused: func(ctx context.Context) (map[string]store.Switch, error) {
			log, err := s.DB.Switches(ctx, s.Group.Name, 0)
			off := map[string]store.Switch{}
			for _, w := range log {
				if delete(off, w.Name); w.Kind == store.SwitchActivity && w.Off {
					off[w.Name] = w
				}
			}
			return off, err
		},
		Limits: Limits{Events: 1000, PendingCalls: 100, Signals: 100},
	})
}

// scene returns a database with one partition, and an Inspector of it.
func scene(t testing.TB) (*roomtest.Scene, *Inspector) {
	s := roomtest.New(t, 1)
	return s, look(s)
}

// noSlot admits no call.
func noSlot(*core.Call) bool { return false }

// jsonOf encodes a value as its users see it.
func jsonOf(v any) ([]byte, error) { return json.Marshal(v) }

// attend makes a worker that serves a queue.
func attend(s *roomtest.Scene, name, queue string, activities ...string) {
	serves, err := json.Marshal(record.Serves{Queues: []record.Queue{{Name: queue, Limit: 4}}, Activities: activities, Alone: true, Build: "build-w"})
	s.Must(err)
	_, err = s.DB.Attend(s.Context(), store.Worker{ID: name + "-1", Name: name, Group: s.Group.Name, Lease: time.Minute, Serves: serves})
	s.Must(err)
}

// pauseActivity pauses an activity in the group.
func pauseActivity(s *roomtest.Scene, name string) {
	_, err := s.DB.Switch(s.Context(), store.Switch{Kind: store.SwitchActivity, Name: name, Off: true, Request: "off-" + name, By: "eve", Why: "enough"})
	s.Must(err)
}

// controlGate is a request of a person to a gate, as package message makes it.
func controlGate(g store.Group, m *core.ToGate) store.Message { return message.ControlGate(g, m) }

// on is the entry that resumes an activity.
func on(name string) store.Switch {
	return store.Switch{Kind: store.SwitchActivity, Name: name, Request: "on-" + name, By: "ann"}
}
