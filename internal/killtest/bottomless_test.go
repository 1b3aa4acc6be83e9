package killtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/postgres"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
)

// envBottomless is the database of a worker process that serves workflows whose code
// ends it.
const envBottomless = "PERDURE_KILLTEST_BOTTOMLESS"

var (
	stride = activity.New("stride", func(_ context.Context, n int) (int, error) { return n + 1, nil })

	// healthy takes a few steps and a moment.
	healthy = workflow.New("healthy", func(wf *workflow.Context, n int) (int, error) {
		for range 3 {
			next, err := workflow.Call(wf, stride, n)
			if err != nil {
				return 0, err
			}
			n = next
			if err := workflow.Sleep(wf, 100*time.Millisecond); err != nil {
				return 0, err
			}
		}
		return n, nil
	})

	// bottomless ends its process: in its first turn, in the one after an activity, or
	// by leaving.
	bottomless = func(name string) workflow.Workflow[string, int] {
		return workflow.New(name, descending)
	}
)

// hows are the ways in which code ends its process, each a workflow of its own.
var hows = map[string]workflow.Workflow[string, int]{"at first": bottomless("at first"), "later": bottomless("later"), "exit": bottomless("exit")}

func descending(wf *workflow.Context, how string) (int, error) {
	if how == "later" {
		if _, err := workflow.Call(wf, stride, 1); err != nil {
			return 0, err
		}
	}
	if how == "exit" {
		os.Exit(3)
	}
	return descend(1), nil
}

// descend has an end that no stack reaches.
func descend(n int) int {
	if n < 0 {
		return 0
	}
	return descend(n+1) + 1
}

// addressed opens a database by what the parent calls it.
func addressed(address string) store.Opener {
	if strings.HasPrefix(address, "postgres") || strings.Contains(address, "host=") {
		return postgres.URL(address, postgres.Partitions(4))
	}
	return sqlite.File(address)
}

// serveBottomless is the life of such a worker.
func serveBottomless(address string) error {
	debug.SetMaxStack(4 << 20) // what it dies of takes a moment instead of seconds
	ctx := context.Background()
	e, err := perdure.Open(ctx, addressed(address), perdure.Register(healthy, stride, hows["at first"], hows["later"], hows["exit"]), registerDeadly(), perdure.NodeName("worker"),
		perdure.Logger(slog.New(slog.NewTextHandler(os.Stderr, nil))))
	if err != nil {
		return err
	}
	if err := e.Start(ctx); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return e.Stop(ctx)
}

// life is one worker process.
type life struct {
	cmd  *exec.Cmd
	in   io.Closer
	said *bytes.Buffer
	dead chan struct{}
	err  error
}

func newLife(t *testing.T, address string) *life {
	t.Helper()
	l := &life{cmd: exec.Command(os.Args[0]), said: &bytes.Buffer{}, dead: make(chan struct{})}
	l.cmd.Env = append(os.Environ(), envBottomless+"="+address)
	l.cmd.Stderr = l.said
	in, err := l.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.in = in
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		l.err = l.cmd.Wait()
		close(l.dead)
	}()
	return l
}

// onBothStores runs a test on a database of its own.
func onBothStores(t *testing.T, test func(t *testing.T, address string, client *perdure.Engine)) {
	for name, make := range map[string]func(*testing.T) string{
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "bottomless.db") },
		"postgres": func(t *testing.T) string { return pgtest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			address := make(t)
			client, err := perdure.Open(t.Context(), addressed(address), perdure.Logger(slog.New(slog.DiscardHandler)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Stop(context.Background()) })
			test(t, address, client)
		})
	}
}

// settled reports whether the healthy runs have completed and the others are parked.
func settled(ctx context.Context, client *perdure.Engine, runs int, poisons []string) (done, parked int, err error) {
	all, err := client.List(ctx, view.Filter{Workflow: healthy.Name(), Status: []string{string(view.StatusCompleted)}, Limit: runs + 1})
	if err != nil {
		return 0, 0, err
	}
	for _, id := range poisons {
		d, err := client.Workflow(id).Describe(ctx)
		if err != nil {
			return 0, 0, err
		}
		if d.Status == string(store.Parked) {
			parked++
		}
	}
	return len(all), parked, nil
}

// TestE87_I9_CodeThatEndsItsProcess: among a hundred healthy runs there is one whose code
// ends the process it runs in. After few deaths it is alone, and parked with their count;
// everything else completes. A run that is terminated is not tried again. By day each way to
// end is played on one store.
func TestE87_I9_CodeThatEndsItsProcess(t *testing.T) {
	const runs, most = 100, 8 // log2 of the number of runs, and one more
	all := []string{"at first", "later", "exit"}
	ways := extent.AtNight(map[string][]string{"sqlite": {"at first", "exit"}, "postgres": {"later"}}, map[string][]string{"sqlite": all, "postgres": all})
	onBothStores(t, func(t *testing.T, address string, client *perdure.Engine) {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		defer cancel()
		for _, how := range ways[filepath.Base(t.Name())] {
			for i := range runs {
				if _, err := perdure.Start(ctx, client, healthy, fmt.Sprint(how, " healthy ", i), i); err != nil {
					t.Fatal(err)
				}
				if i == runs/2 {
					if _, err := perdure.Start(ctx, client, hows[how], how, how); err != nil {
						t.Fatal(err)
					}
				}
			}
			before, _, err := settled(ctx, client, 3*runs, nil)
			if err != nil {
				t.Fatal(err)
			}
			deaths, progress := 0, ""
			for {
				l, over := newLife(t, address), false
				for !over && !exited(l) {
					done, parked, err := settled(ctx, client, 3*runs, []string{how})
					if err != nil && !errors.Is(err, perdure.ErrNotFound) && !store.Unavailable(err) {
						t.Fatal(err)
					}
					over = done == before+runs && parked == 1
					select {
					case <-l.dead:
					case <-ctx.Done():
						t.Fatalf("%s: %d of %d healthy runs completed, %d parked, %d deaths\n%s", how, done-before, runs, parked, deaths, tail(l.said))
					case <-time.After(100 * time.Millisecond): // to count them costs as much as to run them
					}
				}
				if over {
					d, err := client.Workflow(how).Describe(ctx)
					if err != nil || !strings.Contains(d.Reason, "ended its process 3 times in a row") {
						t.Errorf("%s: it is parked for %q, %v", how, d.Reason, err)
					}
					if err := client.Workflow(how).Terminate(ctx, "enough"); err != nil {
						t.Error(err)
					}
					if _, err := perdure.Attach[int](client, how).Result(ctx); err == nil {
						t.Errorf("%s: it was terminated and has a result", how)
					}
					_ = l.in.Close()
					<-l.dead
					if l.err != nil {
						t.Errorf("%s: the last worker ended with %v\n%s", how, l.err, tail(l.said))
					}
					break
				}
				done, _, _ := settled(ctx, client, 3*runs, nil)
				if deaths++; deaths > most {
					t.Fatalf("%s: %d processes died, and %d of %d runs completed\n%s", how, deaths, done-before, runs, tail(l.said))
				}
				progress += fmt.Sprintf(" %d", done-before)
			}
			t.Logf("%s: %d processes died; completed of %d healthy runs after each of them:%s", how, deaths, runs, progress)
		}
	})
}

// TestE87_TerminateNeedsNoCode: a run that ends every process is terminated by the next
// one that begins to suspect, without a death more.
func TestE87_TerminateNeedsNoCode(t *testing.T) {
	onBothStores(t, func(t *testing.T, address string, client *perdure.Engine) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := perdure.Start(ctx, client, hows["later"], "b", "later"); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			<-newLife(t, address).dead
		}
		if err := client.Workflow("b").Terminate(ctx, "enough"); err != nil {
			t.Fatal(err)
		}
		l := newLife(t, address)
		if _, err := perdure.Attach[int](client, "b").Result(ctx); err == nil || !strings.Contains(err.Error(), "terminated") {
			t.Errorf("it ended with %v", err)
		}
		if exited(l) {
			t.Errorf("it ended one more process: %s", tail(l.said))
		}
		_ = l.in.Close()
		<-l.dead
	})
}

func exited(l *life) bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

func tail(b *bytes.Buffer) string {
	lines := strings.Split(b.String(), "\n")
	return strings.Join(lines[:min(len(lines), 25)], "\n")
}
