package engine_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/store"
)

// alarms counts what an engine says about its database, and asks for its health
// whenever it says so.
type alarms struct {
	slog.Handler // prints
	engine       atomic.Pointer[perdure.Engine]
	down, up     atomic.Int64
	mute         atomic.Int64 // engine is well although it said that it is not
}

func (a *alarms) Handle(ctx context.Context, r slog.Record) error {
	switch {
	case strings.Contains(r.Message, "the database does not answer"):
		a.down.Add(1)
		if e := a.engine.Load(); e != nil && !store.Unavailable(e.Health()) {
			a.mute.Add(1)
		}
	case strings.Contains(r.Message, "the database answers again"):
		a.up.Add(1)
	}
	return a.Handler.Handle(ctx, r)
}

// judge makes sure that an engine whose commit failed said so, was not well until
// it was answered, and said that too.
func (a *alarms) judge(t *testing.T, env *perduretest.Env, fault perduretest.Fault) {
	t.Helper()
	if env.Crashes() > 0 {
		return // what a dying process says does not count
	}
	if a.mute.Load() > 0 {
		t.Error("The engine said that the database does not answer, and its health was good.")
	}
	down, up := a.down.Load(), a.up.Load()
	if down != up {
		t.Errorf("The engine said %d times that the database does not answer and %d times that it answers again.", down, up)
	}
	slow := strings.HasPrefix(fault.String(), "takes")
	for _, op := range env.Ops() {
		if strings.Contains(op, "Commit") && strings.Contains(op, fault.String()) && down == 0 && !slow {
			t.Errorf("The engine said nothing about this: %s.", op)
		}
	}
}
