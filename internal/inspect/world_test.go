package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/roomtest"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// world is a scene of runs that live at random, and what the test has done to them. What the
// Inspector says is compared with that.
type world struct {
	*roomtest.Scene
	in   *Inspector
	runs []*life // in the order in which they began
}

// life is what the test knows of a run.
type life struct {
	*roomtest.Run
	workflow   string
	began      int64
	attributes map[string]string
	status     string
	calls      []*called // by number
	attempts   []did     // in the order in which they ended
}

// called is what the test knows of a call.
type called struct {
	number  int64
	name    string
	attempt int
	due     int64 // of the attempt, if it is in backoff
	open    bool
	failed  int
	outcome string // of the last attempt
	kind    string // of the error of the last attempt
}

// did is an attempt that ended.
type did struct {
	call    int64
	name    string
	number  int
	outcome string
	kind    string
	ended   int64
	closes  bool
	total   int // attempts of its call in the end
}

const (
	worldAttempts = 3
	worldRounds   = 3
)

// crew are the calls that a round of each workflow makes at once.
var crew = map[string][]string{"order": {"reserve", "charge"}, "mail": {"notify"}}

// newWorld returns a world of the ages that rapid draws.
func newWorld(t *rapid.T, tb testing.TB) *world {
	w := &world{Scene: roomtest.New(tb, rapid.IntRange(1, 3).Draw(t, "partitions"))}
	w.in = look(w.Scene)
	for workflow, names := range crew {
		w.Define(workflow, func(code *roomtest.Work) (any, error) {
			for range worldRounds {
				calls := make([]*core.Call, len(names))
				for i, name := range names {
					calls[i] = code.Start(name, roomtest.Seconds(worldAttempts))
				}
				_ = code.Wait(calls...) // a failed call does not end the run
			}
			return "done", nil
		})
	}
	for range rapid.IntRange(1, 60).Draw(t, "steps") {
		w.live(t)
	}
	return w
}

// live does one thing.
func (w *world) live(t *rapid.T) {
	what := rapid.SampledFrom([]string{"begin", "pass", "complete", "complete", "fail", "fail", "fail", "terminate"}).Draw(t, "what")
	switch what {
	case "begin":
		w.begin(t)
	case "pass":
		w.Pass(time.Duration(rapid.IntRange(1, 4).Draw(t, "quarters")) * 250 * time.Millisecond)
	case "terminate":
		if open := w.open(); len(open) > 0 && rapid.IntRange(0, 3).Draw(t, "now") == 0 {
			rapid.SampledFrom(open).Draw(t, "run").terminate()
		}
	default:
		r, c := w.someCall(t)
		if c == nil {
			return
		}
		kind := ""
		if what == "fail" {
			kind = rapid.SampledFrom([]string{"Broken", "Busy", "Lost"}).Draw(t, "kind")
		}
		r.end(c, kind)
	}
}

func (w *world) begin(t *rapid.T) {
	workflow := rapid.SampledFrom([]string{"order", "mail"}).Draw(t, "workflow")
	id := fmt.Sprintf("%s-%d", rapid.SampledFrom([]string{"a", "b", "ab"}).Draw(t, "id"), len(w.runs))
	r := &life{workflow: workflow, began: w.Now(), status: view.StatusRunning}
	if customer := rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(t, "customer"); customer != "" {
		r.attributes = map[string]string{"customer": customer}
	}
	r.Run = w.Begin(workflow, id, func(s *history.Start) { s.Attributes = r.attributes })
	w.runs = append(w.runs, r)
	r.round()
}

// round notes the calls that the code of the run makes at once, or that it is at its end.
func (r *life) round() {
	names := crew[r.workflow]
	if len(r.calls) == worldRounds*len(names) {
		r.status = view.StatusCompleted
		return
	}
	for _, name := range names {
		r.calls = append(r.calls, &called{number: int64(len(r.calls) + 1), name: name, attempt: 1, open: true})
	}
}

// open returns the open runs.
func (w *world) open() (open []*life) {
	for _, r := range w.runs {
		if r.status == view.StatusRunning {
			open = append(open, r)
		}
	}
	return open
}

// someCall returns a call whose attempt is in flight.
func (w *world) someCall(t *rapid.T) (*life, *called) {
	type flight struct {
		*life
		*called
	}
	var all []flight
	for _, r := range w.open() {
		for _, c := range r.calls {
			if c.open && c.due <= w.Now() {
				all = append(all, flight{r, c})
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	f := rapid.SampledFrom(all).Draw(t, "call")
	return f.life, f.called
}

// end ends the attempt of a call, with an error if kind says so.
func (r *life) end(c *called, kind string) {
	d := did{call: c.number, name: c.name, number: c.attempt, outcome: view.OutcomeCompleted, kind: kind, ended: r.Now(), closes: true}
	if kind == "" {
		r.Completes(c.number, c.attempt)
	} else {
		r.Fails(c.number, kind, "it is "+kind)
		d.outcome, d.closes = view.OutcomeFailed, c.attempt == worldAttempts
		c.failed++
	}
	c.outcome, c.kind = d.outcome, kind
	r.attempts = append(r.attempts, d)
	if !d.closes {
		c.attempt, c.due = c.attempt+1, r.Now()+int64(time.Second)
		return
	}
	r.closed(c)
	if !slices.ContainsFunc(r.calls, func(c *called) bool { return c.open }) {
		r.round()
	}
}

// closed notes that a call has ended with its attempt.
func (r *life) closed(c *called) {
	c.open = false
	for i := range r.attempts {
		if r.attempts[i].call == c.number {
			r.attempts[i].total = c.attempt
		}
	}
}

func (r *life) terminate() {
	r.Step(core.Control{Operation: core.TerminateTheRun, Reason: "enough", By: "ann"})
	for _, c := range r.calls {
		if !c.open {
			continue
		}
		if c.due <= r.Now() { // in flight
			r.attempts = append(r.attempts, did{call: c.number, name: c.name, number: c.attempt, outcome: view.OutcomeCanceled, ended: r.Now(), closes: true})
			c.outcome, c.kind = view.OutcomeCanceled, ""
		}
		r.closed(c)
	}
	r.status = view.StatusTerminated
}

// entry is an attempt of a run.
type entry struct {
	*life
	did
}

// ledger returns the attempts of all calls with a failed one, latest first: what the ledger is
// to hold.
func (w *world) ledger() (all []entry) {
	for _, r := range w.runs {
		for _, d := range r.attempts {
			if c := r.calls[d.call-1]; c.failed > 0 || d.outcome == view.OutcomeCanceled {
				all = append(all, entry{r, d})
			}
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return b.key().Compare(a.key()) })
	return all
}

func (e entry) key() store.LedgerKey {
	return store.LedgerKey{Ended: e.ended, Run: e.ID, Call: e.call, Number: e.number}
}

// last reports whether no later attempt of its call has ended.
func (e entry) last() bool {
	return !slices.ContainsFunc(e.attempts, func(d did) bool { return d.call == e.call && d.number > e.number })
}

// newest returns the runs, newest first.
func (w *world) newest() []*life {
	all := slices.Clone(w.runs)
	slices.SortFunc(all, func(a, b *life) int { return cmp.Compare(b.ID, a.ID) })
	return all
}

// someTime draws a time around the age of the world, or none.
func (w *world) someTime(t *rapid.T, label string) time.Time {
	if rapid.Bool().Draw(t, label+" is open") {
		return time.Time{}
	}
	return roomtest.Began.Add(time.Duration(rapid.Int64Range(-1, (w.Now()-roomtest.Began.UnixNano())/int64(250*time.Millisecond)+1).Draw(t, label)) * 250 * time.Millisecond)
}

// within reports whether a time is in a span.
func within(at int64, since, until time.Time) bool {
	return (since.IsZero() || at >= since.UnixNano()) && (until.IsZero() || at < until.UnixNano())
}
