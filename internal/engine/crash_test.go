package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/sqlite"
)

// The world in which a shape runs.
type setting struct {
	name     string
	resident bool
	open     func(t *testing.T) func() store.Opener // makes an empty database
}

var settings = []setting{
	{"memory-evicted", false, inMemory},
	{"memory-resident", true, inMemory},
	{"sqlite-evicted", false, inFile},
	{"sqlite-resident", true, inFile},
}

func inMemory(*testing.T) func() store.Opener { return func() store.Opener { return memory.New() } }

func inFile(t *testing.T) func() store.Opener {
	dir, files := t.TempDir(), 0
	return func() store.Opener {
		files++
		path := filepath.Join(dir, fmt.Sprintf("%d.db", files))
		return sqlite.File(path, sqlite.Exclusive(), sqlite.Durability(sqlite.Normal))
	}
}

// What happens at a write.
var blows = []struct {
	name  string
	fault perduretest.Fault
}{
	{"crash-before", perduretest.CrashBefore},
	{"crash-after", perduretest.CrashAfter},
	{"fail-before", perduretest.FailBefore},
	{"fail-after", perduretest.FailAfter},
	{"slow", perduretest.Slow(3 * time.Second)},
	{"outage", perduretest.Outage(30 * time.Second)},
}

// TestEveryWriteOfEveryShape lets each shape run once for each write that it
// makes and each thing that can happen to a write, on each store, with runs kept
// in memory and dropped after each turn. The oracle is the run without faults
// (E9): same outcome, same meaning of history; what is durable never runs again
// (E4); each execution is on record (I3); nothing hangs. One case alone:
//
//	go test -run 'TestEveryWriteOfEveryShape/^timers$/^memory-evicted$/^crash-after$/^write=7$' ./internal/engine
func TestEveryWriteOfEveryShape(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := calm(t, s)
			for _, in := range settings {
				t.Run(in.name, func(t *testing.T) {
					for _, blow := range blows {
						t.Run(blow.name, func(t *testing.T) {
							stage := newStage(t, in)
							perduretest.EveryWrite(t, blow.fault, func(t *testing.T, env *perduretest.Env) {
								got := stage.play(t, env, s)
								judge(t, got, want, stage.book)
								stage.judgeHealth(t, env, blow.fault)
							}, stage.options...)
						})
					}
				})
			}
		})
	}
}

// calm plays a shape without faults.
func calm(t *testing.T, s shape) (a account) {
	t.Helper()
	stage := newStage(t, settings[0])
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		a = stage.play(t, env, s)
		judge(t, a, a, stage.book)
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

func newStage(t *testing.T, in setting) *stage {
	open := in.open(t)
	s := &stage{}
	s.options = []perduretest.Option{
		perduretest.Store(func() store.Opener {
			s.book, s.alarms = newBook(), &alarms{}
			return witness{open(), s.book}
		}),
		perduretest.Patience(30 * 24 * time.Hour),
	}
	if in.resident {
		s.options = append(s.options, perduretest.Resident())
	}
	return s
}
