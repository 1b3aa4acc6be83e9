package killtest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

var (
	kills = flag.Int("kills", 50, "how often the worker is killed at a random moment")
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

// parents is how many runs the parent has under way at any moment.
const parents = 12

// scene is what the tests have in common: a database, a book, a client.
type scene struct {
	t        *testing.T
	database string
	book     *book
	client   *perdure.Engine
	workers  []*worker
}

func newScene(t *testing.T) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{t: t, database: filepath.Join(dir, "kill.db"), book: openBook(t, dir)}
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

// explain tells where a run stands that did not end as it should.
func (s *scene) explain(id string) {
	s.t.Helper()
	d, err := s.client.Describe(s.t.Context(), id)
	if err != nil {
		s.t.Log(err)
		return
	}
	text, err := json.MarshalIndent(d, "", "  ")
	s.t.Logf("%s (life %d): %s %v", id, len(s.workers), text, err)
}

// listen fails the test if a worker said what none may say.
func (s *scene) listen() {
	s.t.Helper()
	for life, w := range s.workers {
		for _, line := range w.complaints() {
			s.t.Errorf("life %d says: %s", life+1, line)
		}
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
	load := newLoad(s)
	load.begin(ctx)
	for range n {
		w := s.spawn()
		if moments.IntN(4) > 0 {
			<-w.ready
		}
		select {
		case <-time.After(time.Duration(moments.Int64N(int64(500 * time.Millisecond)))):
		case <-w.dead:
		}
		w.kill()
	}
	w := s.spawn()
	load.end()
	if err := w.stop(); err != nil {
		t.Errorf("the last worker ended with %v: %s", err, w.stderr)
	}
	s.listen()

	judge(t, s.client, s.book.all(), load.runs, load.closed)
	counts, err := s.client.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(counts.Calls) > 0 || counts.Runs["completed"]+counts.Runs["canceled"] != len(load.runs) {
		t.Errorf("at the end there are %+v, want %d runs, all over, and no call quarantined or waiting", counts, len(load.runs))
	}
	t.Logf("%d runs, %d entries in the book, %d calls seen closed", len(load.runs), s.book.length(), len(load.closed))
}

// load is the parent as a client that never rests.
type load struct {
	scene *scene
	stop  chan struct{}
	work  sync.WaitGroup

	mu     sync.Mutex
	runs   []run
	closed completions
}

func newLoad(s *scene) *load {
	return &load{scene: s, stop: make(chan struct{}), closed: completions{}}
}

func (l *load) begin(ctx context.Context) {
	for p := range parents {
		l.work.Go(func() { l.parent(ctx, p) })
	}
	l.work.Go(func() { l.watch(ctx) })
}

// end lets the runs under way finish.
func (l *load) end() {
	close(l.stop)
	l.work.Wait()
}

// parent starts one run after the other and waits for each.
func (l *load) parent(ctx context.Context, p int) {
	random := rand.New(rand.NewPCG(*seed, uint64(p)+1))
	c := &client{engine: l.scene.client, random: random}
	names := slices.Sorted(maps.Keys(jobs))
	for n := 0; ; n++ {
		select {
		case <-l.stop:
			return
		default:
		}
		name := names[random.IntN(len(names))]
		id := fmt.Sprintf("%s %d.%d", name, p, n)
		r, err := jobs[name](ctx, c, id, random.IntN(1_000_000))
		if err != nil {
			l.scene.t.Errorf("%s: %v", id, err)
			l.scene.explain(id)
		}
		r.over = l.scene.book.length()
		l.mu.Lock()
		l.runs = append(l.runs, r)
		l.mu.Unlock()
	}
}

// watch reads the histories of runs under way, so that it is known early which
// calls may not run any more.
func (l *load) watch(ctx context.Context) {
	for {
		select {
		case <-l.stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		open, err := l.scene.client.List(ctx, perdure.Filter{Limit: parents})
		if err != nil {
			continue
		}
		for _, info := range open {
			r := run{id: info.WorkflowID, run: info.RunID}
			if err := l.closed.observe(ctx, l.scene.client, r, l.scene.book); err != nil {
				l.scene.t.Errorf("%s: %v", r.id, err)
			}
		}
	}
}
