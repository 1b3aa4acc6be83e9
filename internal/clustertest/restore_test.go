package clustertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// effects is the other side: what bodies did to it, whatever any database says.
type effects struct {
	mu    sync.Mutex
	done  []effect
	begun chan string   // steps that begin, as "workflow step"
	hold  chan struct{} // keeps the step "held" until it is closed
}

type effect struct {
	what    string // "workflow step"
	attempt int
	key     string
}

func (f *effects) body(ctx context.Context, step string) (string, error) {
	info, _ := activity.FromContext(ctx)
	what := info.WorkflowID + " " + step
	f.mu.Lock()
	f.done = append(f.done, effect{what, info.Attempt, activity.IdempotencyKey(ctx)})
	f.mu.Unlock()
	f.begun <- what
	switch {
	case step == "held":
		<-f.hold
	case step == "flaky" && info.Attempt == 1:
		return "", errors.New("not yet")
	}
	return step, nil
}

// of are the attempts that had an effect, and the keys they had it under.
func (f *effects) of(what string) (attempts []int, keys []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.done {
		if d.what == what {
			attempts, keys = append(attempts, d.attempt), append(keys, d.key)
		}
	}
	return attempts, keys
}

// await waits until these steps have begun, in any order.
func (f *effects) await(t *testing.T, steps ...string) {
	t.Helper()
	missing := map[string]bool{}
	for _, s := range steps {
		missing[s] = true
	}
	for len(missing) > 0 {
		select {
		case s := <-f.begun:
			delete(missing, s)
		case <-time.After(patience):
			t.Fatalf("these did not begin: %v", missing)
		}
	}
}

// definitions are an activity with an effect, and a workflow of four calls: one that ends
// early, one that fails first and waits for long, one that is held, one after that.
func (f *effects) definitions() (perdure.Option, workflow.Workflow[string, string]) {
	act := activity.New("act", f.body, activity.Retry(retry.Policy{Backoff: retry.Fixed(time.Hour), MaxAttempts: 5}))
	flow := workflow.New("order", func(wf *workflow.Context, _ string) (string, error) {
		flaky := workflow.Async(wf, act, "flaky")
		for _, step := range []string{"early", "held", "late"} {
			if _, err := workflow.Call(wf, act, step); err != nil {
				return "", err
			}
		}
		return flaky.Get(wf)
	})
	return perdure.Register(act, flow), flow
}

// TestE127_AnOlderDatabase: an engine continues from a backup that was taken while it was at
// work. What had ended by then does not run again. What was under way is on record as lost
// and runs again under the next number. What began later runs again under the number it
// had, as nothing on record can tell. All of that has the keys it had before. A run that
// was started later is unknown: its caller starts it again, and its keys are others.
func TestE127_AnOlderDatabase(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		path, copied := filepath.Join(dir, "shop.db"), filepath.Join(dir, "older.db")
		older(t, sqlite.File(path), func() store.Opener {
			for _, suffix := range []string{"", "-wal"} { // nothing writes at the moment
				b, err := os.ReadFile(path + suffix)
				if err == nil {
					err = os.WriteFile(copied+suffix, b, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			return sqlite.File(copied)
		})
	})
	t.Run("postgres", func(t *testing.T) {
		server := pgtest.Shared(t)
		dsn := server.Database(t)
		older(t, postgres.URL(dsn, postgres.Partitions(partitions)), func() store.Opener {
			return postgres.URL(server.Restore(t, server.Dump(t, dsn)))
		})
	})
}

// older runs an engine on a database, takes a backup while it works, lets it end its work,
// and lets another one continue from the backup.
func older(t *testing.T, db store.Opener, backup func() store.Opener) {
	f := &effects{begun: make(chan string, 100), hold: make(chan struct{})}
	registered, flow := f.definitions()
	open := func(db store.Opener) *perdure.Engine {
		t.Helper()
		e, err := perdure.Open(t.Context(), db, registered, perdure.Lease(time.Second), perdure.NodeName("the node"), perdure.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
		if err == nil {
			err = e.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return e
	}
	run := func(e *perdure.Engine, id string) {
		t.Helper()
		if _, err := perdure.Start(t.Context(), e, flow, id, ""); err != nil {
			t.Fatal(err)
		}
		awaitState(t, e, id, "backoff")
		if _, err := ops.Control(t.Context(), e, id, view.CallFilter{Call: 1}, ops.RetryNow()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if got, err := perdure.Run(ctx, e, flow, id, ""); err != nil || got != "flaky" {
			t.Fatalf("%s returned %q, %v", id, got, err)
		}
	}
	e := open(db)
	if _, err := perdure.Start(t.Context(), e, flow, "first", ""); err != nil {
		t.Fatal(err)
	}
	f.await(t, "first flaky", "first early", "first held")
	awaitState(t, e, "first", "backoff")
	older := backup()
	close(f.hold)
	run(e, "first")
	run(e, "second") // which the backup has never seen
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	before := len(f.done)

	e = open(older)
	if found, err := ops.Doctor(t.Context(), e, view.DoctorFilter{}); err != nil || !found.OK {
		t.Errorf("in the restored database the doctor finds %+v, %v", found, err)
	}
	if _, err := e.Workflow("second").Describe(t.Context()); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("the run that the backup has not: %v", err)
	}
	run(e, "first")
	run(e, "second")
	if len(f.done) == before {
		t.Fatal("nothing ran from the backup")
	}
	for step, want := range map[string]string{
		"first early": "[1]",
		"first flaky": "[1 2 2]", // its first failure is on record, and its second attempt came after the backup
		"first held":  "[1 2]",   // it was under way: the first is on record as lost
		"first late":  "[1 1]",   // it began after the backup
		"second held": "[1 1]",   // of two runs
	} {
		attempts, keys := f.of(step)
		if got := fmt.Sprint(attempts); got != want {
			t.Errorf("%s had the attempts %s, want %s", step, got, want)
		}
		same := len(slices.Compact(slices.Clone(keys))) == 1
		if same != (step != "second held") {
			t.Errorf("%s had the keys %q", step, keys)
		}
	}
	attempts, err := e.Workflow("first").Attempts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for _, a := range attempts {
		if a.Outcome == "lost" {
			lost++
			if a.Number != 1 || a.Call != 3 {
				t.Errorf("on record as lost is %+v, want attempt 1 of call 3", a)
			}
		}
	}
	if lost != 1 {
		t.Errorf("%d attempts are on record as lost, want that which was under way: %+v", lost, attempts)
	}
}

// awaitState waits until a call of a run is in a state.
func awaitState(t *testing.T, e *perdure.Engine, id, state string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(glance) {
		d, err := e.Workflow(id).Describe(t.Context())
		if err == nil && slices.ContainsFunc(d.Pending, func(c view.Call) bool { return c.State == state }) {
			return
		}
	}
	t.Fatalf("no call of %s came to be in %s", id, state)
}
