package flow_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgbubble"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
)

// crashSettings are where programs are struck: in memory with all that can happen, on each
// database with what leaves something else on disk there, and there one shape by day, for the
// interpreter writes through the engine, whose own shapes are struck there in every way. At
// night all of it happens everywhere.
var crashSettings = []struct {
	name     string
	also     perduretest.Fault // what happens in the check; the zero value is all
	resident bool
	database func(t *testing.T) func() store.Opener // nil: in memory
}{
	{name: "memory-evicted"},
	{name: "memory-resident", resident: true},
	{name: "sqlite-evicted", database: onFiles, also: perduretest.CrashAfter},
	{name: "postgres-evicted", database: onSchema, also: perduretest.FailAfter},
}

// onDatabases is the shape that is struck on databases by day.
const onDatabases = "limited"

// blows are what happens to a write.
var blows = map[string]perduretest.Fault{
	"crash-before": perduretest.CrashBefore, "crash-after": perduretest.CrashAfter,
	"fail-before": perduretest.FailBefore, "fail-after": perduretest.FailAfter,
}

func onFiles(t *testing.T) func() store.Opener {
	dir, n := t.TempDir(), 0
	return func() store.Opener {
		n++
		return sqlite.File(filepath.Join(dir, fmt.Sprintf("%d.db", n)), sqlite.Exclusive(), sqlite.Durability(sqlite.Normal))
	}
}

func onSchema(t *testing.T) func() store.Opener {
	schema := pgbubble.Borrow(t, 1)
	return func() store.Opener { return schema.Empty(func() int64 { return time.Now().UnixNano() }) }
}

// TestW8_EveryCrash strikes every write of every shape: the result is that of the
// plain evaluator, what was completed never runs again, and every execution is on
// record under the next number.
func TestW8_EveryCrash(t *testing.T) {
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain := newWorld()
			want := ""
			perduretest.Test(t, func(t *testing.T, _ *perduretest.Env) { want = outcome(plain.plain(t, s.text)) })
			for _, in := range crashSettings {
				for blow, fault := range blows {
					if in.also != (perduretest.Fault{}) && in.also != fault && !extent.Nightly() {
						continue
					}
					if testing.Short() && (fault != perduretest.CrashAfter || !in.resident) {
						continue // what continues at once is the same after each
					}
					t.Run(in.name+"/"+blow, func(t *testing.T) {
						if in.database != nil {
							if name != onDatabases {
								extent.OnlyAtNight(t, "the engine's own shapes are struck there on each push")
							}
						}
						var options []perduretest.Option
						if in.resident {
							options = append(options, perduretest.Resident())
						}
						if in.database != nil {
							options = append(options, perduretest.Store(in.database(t)))
						}
						perduretest.EveryWrite(t, fault, func(t *testing.T, env *perduretest.Env) {
							w := newWorld()
							if got := outcome(w.durable(t, env, s.text)); got != want {
								t.Errorf("the result is %s, want %s", got, want)
							}
							w.judge(t, env, plain, s.atOnce)
						}, options...)
					})
				}
			}
		})
	}
}

// judge compares what was executed with the ledger, and with the run of the plain
// evaluator. At most so many attempts are at work at once.
func (w *world) judge(t *testing.T, env *perduretest.Env, plain *world, atOnce int) {
	t.Helper()
	more := 0
	for call, n := range w.runs {
		more += max(0, n-plain.runs[call])
		if plain.runs[call] == 0 {
			t.Errorf("%s ran, which is no action of the program", call)
		}
	}
	if most := atOnce * env.Crashes(); more > most {
		t.Errorf("%d executions too many, and %d attempts may have been lost: %v, want %v", more, most, w.runs, plain.runs)
	}
	recorded, completed := map[string]int{}, map[string]bool{}
	run := env.Workflow("run").Describe().RunID
	for _, a := range env.Workflow("run").Attempts() {
		call := fmt.Sprintf("%s/%d", run, a.Call)
		if recorded[call]++; a.Number != recorded[call] {
			t.Errorf("attempt %d of call %d is the %dth on record", a.Number, a.Call, recorded[call])
		}
		if completed[call] {
			t.Errorf("call %d had attempt %d after it was completed", a.Call, a.Number)
		}
		completed[call] = a.Outcome == "completed"
	}
	for call, n := range w.failures {
		if n > recorded[call] {
			t.Errorf("%s was executed %d times, and %d attempts are on record", call, n, recorded[call])
		}
	}
}
