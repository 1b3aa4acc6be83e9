package killtest

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store/sqlite"
)

var (
	kills = flag.Int("kills", extent.AtNight(30, 300), "how often the worker is killed at a random moment")
	seed  = flag.Uint64("seed", 0, "fixes the random moments; 0 draws a new one")
)

// setSeed draws a seed if none was given.
func setSeed() {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
}

// patience ends a test in which a run never ends, with the run's name. It decides
// nothing else.
func patience(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), 3*time.Minute+time.Duration(*kills)*2*time.Second)
}

// scene is what the tests have in common: a database, a book, a client.
type scene struct {
	t        *testing.T
	database string
	book     *witness.Book
	client   *perdure.Engine
	workers  []*worker
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, database: filepath.Join(t.TempDir(), "kill.db"), book: openBook(t)}
	s.openClient()
	t.Cleanup(s.closeClient)
	return s
}

// openClient makes the parent a client of the database.
func (s *scene) openClient() {
	s.t.Helper()
	client, err := perdure.Open(s.t.Context(), sqlite.File(s.database), perdure.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	if err != nil {
		s.t.Fatal(err)
	}
	s.client = client
}

func (s *scene) closeClient() {
	s.t.Helper()
	if err := s.client.Close(); err != nil {
		s.t.Error(err)
	}
}

// spawn starts the next life of the worker.
func (s *scene) spawn() *worker {
	s.t.Helper()
	w := spawn(s.t, s.database, s.book, len(s.workers)+1)
	s.t.Cleanup(w.kill) // whatever happens to the test
	s.workers = append(s.workers, w)
	return w
}

// listen fails the test if a worker said what none may say, but for the events that the test is
// about.
func (s *scene) listen(about ...string) {
	s.t.Helper()
	for life, w := range s.workers {
		for _, line := range w.complaints() {
			if !slices.ContainsFunc(about, func(event string) bool { return strings.Contains(line, "event="+event+" ") }) {
				s.t.Errorf("life %d says: %s", life+1, line)
			}
		}
	}
}

// openBook opens a book of effects for a test.
func openBook(t *testing.T) *witness.Book {
	t.Helper()
	b, err := witness.OpenBook()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// judge holds the book against what is on record.
func judge(t *testing.T, c witness.Case) {
	t.Helper()
	for _, f := range c.Judge(t.Context(), nil).Found {
		t.Error(f)
	}
}

// TestE1_E9_KillNineAtRandomMoments kills the worker again and again while a
// client starts, signals and cancels. Everything acknowledged must come true,
// exactly once where that is promised.
func TestE1_E9_KillNineAtRandomMoments(t *testing.T) {
	setSeed()
	n := *kills
	if testing.Short() {
		n = min(n, 10)
	}
	t.Logf("%d kills; again: go test ./internal/killtest -run %s -kills %d -seed %d", n, t.Name(), n, *seed)
	s := newScene(t)
	moments := rand.New(rand.NewPCG(*seed, 0))

	ctx, cancel := patience(t)
	defer cancel()
	load := witness.Load{Engine: s.client, Book: s.book, Seed: *seed}
	load.Begin(ctx)
	for range n {
		w := s.spawn()
		if moments.IntN(4) > 0 {
			<-w.ready
		}
		select {
		case <-time.After(time.Duration(moments.Int64N(int64(500 * time.Millisecond)))):
		case <-w.Dead:
		}
		w.kill()
	}
	w := s.spawn()
	end := load.End()
	if err := w.stop(); err != nil {
		t.Errorf("the last worker ended with %v: %s", err, w.Said())
	}
	s.listen()

	judge(t, end)
	counts, err := ops.Counts(t.Context(), s.client, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(counts.Calls) > 0 || counts.Runs["completed"]+counts.Runs["canceled"] != len(end.Runs) {
		t.Errorf("at the end there are %+v, want %d runs, all over, and no call quarantined or waiting", counts, len(end.Runs))
	}
	t.Logf("%d runs, %d entries in the book, %d calls seen closed", len(end.Runs), len(end.Entries), len(end.Closed))
}
