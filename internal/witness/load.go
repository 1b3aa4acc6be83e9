package witness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Clients is how many clients a load has, and so how many runs are under way at
// any moment.
const Clients = 12

// Load is clients that never rest.
type Load struct {
	Engine *perdure.Engine // that is not a worker
	Book   *Book
	Seed   uint64         // decides what the clients ask for
	Relay  Relay          // nil: they ask through Engine
	Only   []string       // names of jobs; nil: all
	More   map[string]Job // besides Jobs

	stop chan struct{}
	work sync.WaitGroup

	mu     sync.Mutex
	runs   []Run
	closed Completions
	found  []Finding
}

// Begin lets the clients begin. If ctx ends, the runs that have not ended by then
// are lost.
func (l *Load) Begin(ctx context.Context) {
	l.stop, l.closed = make(chan struct{}), Completions{}
	for n := range Clients {
		l.work.Go(func() { l.client(ctx, n) })
	}
	l.work.Go(func() { l.watch(ctx) })
}

// Stop lets the clients begin nothing more. The channel is closed when the runs under way
// have ended, or the context of Begin has.
func (l *Load) Stop() <-chan struct{} {
	close(l.stop)
	over := make(chan struct{})
	go func() {
		l.work.Wait()
		close(over)
	}()
	return over
}

// End is Stop that waits, and returns what there is to judge.
func (l *Load) End() Case {
	<-l.Stop()
	return l.Case()
}

// Case returns what there is to judge when the load is over.
func (l *Load) Case() Case {
	return Case{Engine: l.Engine, Entries: l.Book.Entries(), Runs: l.runs, Closed: l.closed, Found: l.Found()}
}

// Progress waits until another run has ended and a number of further entries are in the book, for some
// seconds at most. Code that never survives is held, whatever kills it.
func (l *Load) Progress(entries int) {
	runs, at := l.Finished(), l.Book.Length()+entries
	for end := time.Now().Add(5 * time.Second); (l.Finished() == runs || l.Book.Length() < at) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// Finished is how many runs have ended so far.
func (l *Load) Finished() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.runs)
}

// Found is what the clients have found so far.
func (l *Load) Found() []Finding {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.found)
}

func (l *Load) find(kind Kind, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found = append(l.found, Finding{kind, fmt.Sprintf(format, args...)})
}

// client starts one run after the other and waits for each.
func (l *Load) client(ctx context.Context, number int) {
	c := &Client{Engine: l.Engine, Random: rand.New(rand.NewPCG(l.Seed, uint64(number)+1)), Relay: l.Relay}
	jobs := maps.Clone(Jobs)
	maps.Copy(jobs, l.More)
	names := l.Only
	if names == nil {
		names = slices.Sorted(maps.Keys(jobs))
	}
	for n := 0; ctx.Err() == nil; n++ {
		select {
		case <-l.stop:
			return
		default:
		}
		name := names[c.Random.IntN(len(names))]
		id := fmt.Sprintf("%s %d.%d", name, number, n)
		runs, err := jobs[name](ctx, c, id, c.Random.IntN(1_000_000))
		switch {
		case errors.Is(context.Cause(ctx), context.Canceled): // nobody wants to know any more
			return
		case err != nil:
			l.find(kindOf(ctx, err), "%s: %v\n%s", id, err, Explain(l.Engine, id))
		}
		over := l.Book.Length()
		l.mu.Lock()
		for _, r := range runs {
			r.Over = over
			l.runs = append(l.runs, r)
		}
		l.mu.Unlock()
	}
}

// watch reads the histories of runs under way, so that it is known early which
// calls may not run any more.
func (l *Load) watch(ctx context.Context) {
	for {
		select {
		case <-l.stop:
			return
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
		open, err := l.Engine.List(ctx, view.Filter{Limit: Clients})
		if err != nil {
			continue
		}
		for _, info := range open {
			err := l.closed.observe(ctx, l.Engine, Run{ID: info.WorkflowID, RunID: info.RunID}, l.Book)
			if err != nil && ctx.Err() == nil {
				l.find(Wrong, "%s: %v", info.WorkflowID, err)
			}
		}
	}
}

// Explain tells where a run stands that did not end as it should.
func Explain(e *perdure.Engine, id string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	d, err := e.Workflow(id).Describe(ctx)
	if err != nil {
		return err.Error()
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}
