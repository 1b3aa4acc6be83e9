package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// What happens at a write.
var blows = []struct {
	name  string
	fault perduretest.Fault
	slack time.Duration // until the engine can work again

	// also is where it happens beside memory, if it leaves something else on disk
	// than the others do. At night it happens in all settings.
	also string
}{
	{"crash-before", perduretest.CrashBefore, time.Millisecond, ""},
	{"crash-after", perduretest.CrashAfter, time.Millisecond, "sqlite-evicted"},
	{"fail-before", perduretest.FailBefore, time.Second, ""}, // to start again takes that long
	{"fail-after", perduretest.FailAfter, time.Second, "postgres-evicted"},
	{"slow", perduretest.Slow(3 * time.Second), 3 * time.Second, ""},
	{"outage", perduretest.Outage(30 * time.Second), 32 * time.Second, ""}, // it asks once in so many
}

// TestEveryWriteOfEveryShape lets each shape run once for each write that it
// makes and each thing that can happen to a write (see played), with runs dropped after each
// turn, and kept in memory where the write was made. The oracle is the run without faults
// (E9): same outcome, same meaning of history; what is durable never runs again
// (E4); each execution is on record (I3); nothing hangs. On the databases each
// way of writing is struck once, and at night, for half an hour, every write:
//
//	PERDURE_NIGHTLY=1 go test -timeout 2h -run TestEveryWriteOfEveryShape ./internal/engine
//
// One case alone:
//
//	go test -run 'TestEveryWriteOfEveryShape/^timers$/^memory-evicted$/^crash-after$/^write=7$' ./internal/engine
func TestEveryWriteOfEveryShape(t *testing.T) {
	strikes := strikesOnDisk(t)
	for i, s := range shapes {
		if testing.Short() && !slices.Contains(onDisk, s.name) {
			continue // the others write in no other way
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := calm(t, s)
			for _, in := range everywhere {
				few := in.onDisk && !extent.Nightly()
				if few && strikes[s.name] == nil || testing.Short() && (in.onDisk || !in.resident) {
					continue
				}
				t.Run(in.name, func(t *testing.T) {
					for k, blow := range blows {
						if !played(i, k, in) {
							continue
						}
						t.Run(blow.name, func(t *testing.T) {
							stage := newStage(t, in, s)
							struck := func(t *testing.T, env *perduretest.Env) {
								got := stage.play(t, env, s)
								judge(t, got, want, stage.book, blow.slack)
								stage.alarms.judge(t, env, blow.fault)
							}
							if !few {
								perduretest.EveryWrite(t, blow.fault, struck, stage.options...)
								return
							}
							for _, write := range strikes[s.name] {
								t.Run(fmt.Sprintf("write=%d", write), func(t *testing.T) {
									perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
										env.At(write, blow.fault)
										struck(t, env)
									}, stage.options...)
								})
							}
						})
					}
				})
			}
		})
	}
}

// played reports whether a blow strikes a shape in a setting. At night all do. On each push each
// shape is struck by crashes after all its writes, and every second one by one of the faults that
// are no crashes: each of these strikes enough shapes. What a crash before a write finds is what
// one after the write before leaves, but for what happens between the two: that strikes every
// fourth shape. On the databases, where a blow leaves something else behind, and in memory with
// -short, one is enough.
func played(shape, blow int, in setting) bool {
	const crashes = 2 // the first ones: before the write, and after it
	others := len(blows) - crashes
	switch {
	case extent.Nightly():
		return true
	case testing.Short():
		return blow == shape%len(blows)
	case in.onDisk:
		return blows[blow].also == in.name
	case in.resident:
		return blows[blow].also != "" && shape%2 == blow/2%2
	}
	return blow == 1 || blow == 0 && shape%4 == 0 || shape%2 == 0 && blow == crashes+shape/2%others
}

// calm plays a shape without faults.
func calm(t *testing.T, s shape) (a account) {
	t.Helper()
	stage := newStage(t, everywhere[0], s)
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		a = stage.play(t, env, s)
		judge(t, a, a, stage.book, 0)
	}, stage.options...)
	return a
}

// stage is where runs of a shape take place, one after the other, each with a
// database and a book of its own.
type stage struct {
	options []perduretest.Option
	book    *book
	alarms  *alarms
}

func newStage(t *testing.T, in setting, what shape) *stage {
	empty := in.prepare(t, 1)
	s := &stage{}
	s.options = []perduretest.Option{
		perduretest.Store(func() store.Opener {
			s.book, s.alarms = newBook(), &alarms{}
			return witness{empty(here), s.book}
		}),
		perduretest.Patience(30 * 24 * time.Hour),
		perduretest.Engine(perdure.Logger(slog.New(stageLog{s})), perdure.Concurrency(what.slots), perdure.MaxPendingCalls(what.pending), perdure.Build(stageBuild),
			perdure.OnPaused(func(p view.PausedCall) { s.book.paused(p) })),
	}
	if in.resident {
		s.options = append(s.options, perduretest.Resident())
	}
	return s
}

// play runs a shape on this stage.
func (s *stage) play(t *testing.T, env *perduretest.Env, what shape) account {
	t.Helper()
	s.alarms.Handler = slog.NewTextHandler(t.Output(), nil)
	s.book.writeNumber = env.Writes
	what.register(t, env, s.book)
	if !what.redeployed {
		s.alarms.engine.Store(env.Engine())
	}
	return play(t, env, what, s.book)
}

// stageLog is where the engines on a stage log to.
type stageLog struct{ stage *stage }

func (l stageLog) Enabled(context.Context, slog.Level) bool { return true }
func (l stageLog) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l stageLog) WithGroup(string) slog.Handler            { return l }
func (l stageLog) Handle(ctx context.Context, r slog.Record) error {
	return l.stage.alarms.Handle(ctx, r)
}
