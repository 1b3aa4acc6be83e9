package torture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"os/exec"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/witness"
	"github.com/perdure/perdure/store"
)

// Place is a database that a torture has to itself.
type Place struct {
	Opener   func() store.Opener
	Database string // as processes are told, without a network in between
	Postings string // the name of the bank's table

	// Of a database that several processes serve at a time; nil and empty for a file.
	Servers []Server                         // that it may be on
	Through func(networks []*Network) string // the database by way of networks, one to each server
	Schema  string                           // of the tables, as statements name it
}

// Server makes connections with one server.
type Server func() (net.Conn, error)

// Network is a proxy to one server.
type Network = Proxy

// shared reports whether several processes serve the database at a time.
func (p Place) shared() bool { return p.Servers != nil }

// pace is how long there is between two troubles at most. A process on a file has nobody to wait
// for when it starts.
func (p Place) pace() time.Duration {
	if p.shared() {
		return lease / 2
	}
	return lease / 4
}

// Options say what to torture, and how.
type Options struct {
	Place   Place
	For     time.Duration
	Seed    uint64                      // decides what is done when, and what clients ask for
	Command func() *exec.Cmd            // a process of this program that calls Serve
	Hurt    func(context.Context) error // restarts the server, or fails it over; may be nil
	Show    func(Progress)              // is called a few times a second; may be nil
}

// Progress is how far a torture is.
type Progress struct {
	Stage   string // empty while processes are hurt
	Latest  string // what was done last
	Elapsed time.Duration
	For     time.Duration
	Entries int // in the book
	Judged  int // runs
	Done    Troubles
}

const (
	// lease is that of the processes.
	lease = 2 * time.Second
	// patience is how long nothing may move that must.
	patience = time.Minute
	// showEvery is how often progress is shown.
	showEvery = 200 * time.Millisecond
)

var errStuck = errors.New("nothing has moved for too long")

// torture is one in progress.
type torture struct {
	Options
	*crew
	client *perdure.Engine
	load   *witness.Load
	began  time.Time
	stuck  bool   // nothing moves any more
	deeds  []deed // what was done
}

// deed is something that was done.
type deed struct {
	at   time.Time
	what string
}

// Run hurts processes that work on the place for a time, or until ctx ends, and says what came
// of it. The place is left to its owner. An error means that nothing can be said.
func Run(ctx context.Context, opt Options) (*Report, error) {
	quiet := perdure.Logger(slog.New(slog.NewTextHandler(io.Discard, nil)))
	client, err := perdure.Open(ctx, opt.Place.Opener(), quiet)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	book, err := witness.OpenBook()
	if err != nil {
		return nil, err
	}
	defer book.Close()
	if err := witness.CreatePostings(ctx, client, opt.Place.Postings); err != nil {
		return nil, err
	}
	t := &torture{Options: opt, client: client}
	t.crew = &crew{place: opt.Place, book: book, command: opt.Command, random: rand.New(rand.NewPCG(opt.Seed, 1<<40)), fate: rand.New(rand.NewPCG(opt.Seed, 1<<41)), limits: map[string]int{}}
	defer t.crew.end()
	return t.play(ctx)
}

// play is the torture and its verdict.
func (t *torture) play(ctx context.Context) (*Report, error) {
	// The load and the verdict continue when ctx ends: an interrupt ends the torture early.
	whole := context.WithoutCancel(ctx)
	working, giveUp := context.WithCancelCause(whole)
	defer giveUp(nil)
	t.crew.over = working.Done()
	if err := t.crew.begin(ctx); err != nil {
		return nil, err
	}
	t.began = time.Now()
	defer t.show()()
	t.load = t.newLoad()
	t.load.Begin(working)
	if err := t.hurt(ctx); err != nil {
		return nil, err
	}
	hurtFor := time.Since(t.began)
	t.stage("the runs under way end")
	t.relieve()
	t.settle(t.load.Stop(), giveUp)
	still := t.book.Longest()
	end := t.load.Case()
	// On a machine that is busy enough, any process may be one that others took for dead.
	end.Zombies, end.Server, end.Limits, end.Postings = true, true, t.limits, t.place.Postings
	t.stage("the record is held against the book")
	orphans := left(whole, t.client, t.place.Schema)
	verdict := end.Judge(whole, t.judged)
	t.leave()
	found := slices.Concat(t.found, orphans, verdict.Found)
	return newReport(t, hurtFor, still, ctx.Err() != nil, verdict.Tally, found), nil
}

// newLoad is clients of all kinds of work that the place allows.
func (t *torture) newLoad() *witness.Load {
	l := &witness.Load{Engine: t.client, Book: t.book, Seed: t.Seed, Relay: relay{t.crew}, More: map[string]witness.Job{"bank": witness.Banking, "crowd": witness.Crowding}}
	if t.place.shared() { // else no second node exists that could take runs of another build
		l.More["route"] = witness.Routing
	}
	l.Only = slices.Collect(maps.Keys(witness.Jobs))
	for name := range l.More {
		l.Only = append(l.Only, name, name)
	}
	l.Only = append(l.Only, "queued") // what is shared is worth more
	slices.Sort(l.Only)               // the seed decides
	return l
}

// settle waits until the load is over. If nothing moves for too long, what is under way is lost.
func (t *torture) settle(over <-chan struct{}, giveUp context.CancelCauseFunc) {
	for length, since := -1, time.Now(); ; {
		select {
		case <-over:
			return
		case <-time.After(100 * time.Millisecond):
		}
		switch now := t.book.Length() + t.load.Finished(); {
		case now != length:
			length, since = now, time.Now()
		case t.stuck, time.Since(since) > patience:
			giveUp(errStuck)
			<-over
			return
		}
	}
}

// show shows the progress until the function is called.
func (t *torture) show() (stop func()) {
	if t.Show == nil {
		return func() {}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-done:
				return
			case <-time.After(showEvery):
				t.Show(t.progress())
			}
		}
	}()
	return func() { close(done); <-gone }
}

func (t *torture) progress() Progress {
	p := t.crew.progress()
	p.Elapsed, p.For, p.Entries = time.Since(t.began), t.For, t.book.Length()
	return p
}

// say notes what is done, for the progress.
func (t *torture) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Latest = fmt.Sprintf(format, args...)
	t.deeds = append(t.deeds, deed{time.Now(), t.now.Latest})
}
