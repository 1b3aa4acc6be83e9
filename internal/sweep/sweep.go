package sweep

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/inspect"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// A sweep leaves most of the database's time to others: it starts with a small batch of runs
// and adapts its size to how long deleting takes, as histories may be long. After each batch
// it rests several times as long. A run is deleted as a whole.
const (
	batch       = 50
	page        = 500
	short       = 5 * time.Millisecond
	long        = 20 * time.Millisecond
	restFactor  = 4
	restAtLeast = 20 * time.Millisecond
)

// ended are the statuses of runs that have ended for good.
var ended = []store.Status{store.Completed, store.Failed, store.Canceled, store.Terminated, store.TimedOut}

// retention says how long runs with a status are kept, 0 for ever.
type retention map[store.Status]time.Duration

func retentionOf(keep view.Retention) retention {
	return retention{
		store.Completed: keep.Completed, store.Failed: keep.Failed, store.Canceled: keep.Canceled,
		store.Terminated: keep.Terminated, store.TimedOut: keep.TimedOut, store.Continued: keep.Continued,
	}
}

// Check returns an error for negative durations.
func Check(keep view.Retention) error {
	all := retentionOf(keep)
	all["statistics"], all["switches"] = keep.Statistics, keep.Switches
	for name, d := range all {
		if d < 0 {
			return &history.InputError{What: "retention of " + string(name), Problem: fmt.Sprintf("is %s; it is positive, or zero to keep it forever", d)}
		}
	}
	return nil
}

// ends returns the statuses of runs that may be deleted. Continued runs come last: they are
// deleted after the runs that follow them.
func (r retention) ends() (all []store.Status) {
	for _, s := range ended {
		if r[s] > 0 {
			all = append(all, s)
		}
	}
	if len(all) > 0 || r[store.Continued] > 0 {
		all = append(all, store.Continued)
	}
	return all
}

// atLeast returns the shortest time for which a run with a status is kept.
func (r retention) atLeast(s store.Status) time.Duration {
	least := r[s]
	if s == store.Continued {
		for _, end := range r.ends() {
			if keep := r[end]; keep > 0 && (least == 0 || keep < least) {
				least = keep
			}
		}
	}
	return least
}

// Config configures a Sweeper.
type Config struct {
	Context   context.Context // ends with the engine
	Store     store.Store
	Name      string // of the group
	Group     store.Group
	Clock     *clock.Clock
	Log       *logs.Log
	Retention view.Retention
	Every     time.Duration // between two sweeps
	MaxKept   int           // closed runs before a warning, without a retention
	// Owned returns the partitions that this node looks after. It is never nil, which would
	// mean all.
	Owned func() []int
	// Awaits reports whether a caller in this process waits for a run.
	Awaits func(*store.Run) bool
}

// Sweeper deletes closed runs. It is safe for concurrent use.
type Sweeper struct {
	config Config
	last   atomic.Int64
}

// New returns a Sweeper. Run makes it sweep.
func New(c Config) *Sweeper { return &Sweeper{config: c} }

// Last returns when the last sweep of Run ended, in Unix nanoseconds; 0 for none.
func (w *Sweeper) Last() int64 { return w.last.Load() }

// pass is one sweep of some partitions.
type pass struct {
	*Config
	keep       view.Retention
	of         retention // what keep says of runs
	partitions []int
	dry        bool
	now        int64
	began      time.Time
	gone       map[string]bool // runs of the partition that are deleted, or would be in a dry run
	held       bool            // a run is kept because of another run of its chain
	batch      int             // how many runs are deleted at a time
	result     view.SweepResult
}

// Sweep deletes from partitions what a retention does not keep, or with dry only counts it. It may
// run beside engines and other sweeps: each run is deleted once. If it returns an error, the
// result covers what was deleted before.
func (w *Sweeper) Sweep(ctx context.Context, keep view.Retention, partitions []int, dry bool) (view.SweepResult, error) {
	s := &pass{
		Config: &w.config, keep: keep, of: retentionOf(keep), partitions: partitions, dry: dry, now: w.config.Clock.Now(), began: time.Now(), gone: map[string]bool{}, batch: batch,
		result: view.SweepResult{DryRun: dry, Status: map[string]int{}},
	}
	if err := Check(keep); err != nil || len(partitions) == 0 {
		return s.result, err
	}
	for _, p := range partitions {
		clear(s.gone)
		if err := s.partition(ctx, p); err != nil {
			return s.result, err
		}
	}
	return s.result, s.rest(ctx)
}

// partition deletes the runs of a partition. Passes go by status, so they may reach a run
// before its successor in the chain; then there is another pass.
func (s *pass) partition(ctx context.Context, partition int) error {
	for {
		s.held = false
		removed := s.result.Runs
		for _, end := range s.of.ends() {
			if err := s.runs(ctx, partition, end); err != nil {
				return err
			}
		}
		if !s.held || s.result.Runs == removed {
			return nil
		}
	}
}

// runs deletes the runs of a partition with a status that closed earlier than keep. It reads
// only runs created before that, newest first, so a run comes before those that it
// continues. It does not read deleted runs again: a sweep costs what there is to delete,
// plus what is kept for ever.
func (s *pass) runs(ctx context.Context, partition int, end store.Status) error {
	filter := inspect.Bounded(store.Filter{
		Partitions: []int{partition}, Status: []store.Status{end}, Limit: page,
		Until: time.Unix(0, s.now).Add(-s.of.atLeast(end)),
	})
	for {
		rows, err := s.Store.List(ctx, filter)
		if err != nil {
			return err
		}
		var doomed []string
		for i := range rows {
			over, err := s.over(ctx, &rows[i])
			if err != nil {
				return err
			}
			if over {
				doomed = append(doomed, rows[i].ID)
				s.gone[rows[i].ID] = true
			}
			if len(doomed) >= s.batch || i == len(rows)-1 && len(doomed) > 0 {
				if err := s.delete(ctx, store.Deletion{Partition: partition, Runs: doomed}); err != nil {
					return err
				}
				s.result.Runs += len(doomed)
				s.result.Status[string(end)] += len(doomed)
				s.forget(end, doomed)
				doomed = nil
			}
		}
		if len(rows) < page {
			return nil
		}
		filter.Before = rows[len(rows)-1].ID
	}
}

// forget drops the entries of deleted runs: the database says that they are gone. The entries
// of continued runs stay, so that their predecessors in the chain need no query.
func (s *pass) forget(end store.Status, removed []string) {
	if s.dry || end == store.Continued {
		return
	}
	for _, id := range removed {
		delete(s.gone, id)
	}
}

// over reports whether a run may be deleted. A run whose outcome a caller of this process
// awaits is kept until the caller has it.
func (s *pass) over(ctx context.Context, r *store.Run) (bool, error) {
	if s.gone[r.ID] || s.Awaits(r) {
		return false, nil
	}
	if r.Status != store.Continued && !s.longAgo(r.Closed, s.of[r.Status]) {
		return false, nil
	}
	if s.longAgo(r.Closed, s.keep.Continued) {
		return true, nil
	}
	if r.Status != store.Continued {
		follows, err := s.followed(ctx, r)
		s.held = s.held || follows
		return !follows && err == nil, err
	}
	d, err := core.DecodeDetail(r.Detail)
	if err != nil || d.Next == "" {
		return false, nil // the outcome of the chain is unknown
	}
	if s.gone[d.Next] {
		return true, nil
	}
	// The chain was deleted before, down to this run.
	_, err = s.Store.Find(ctx, r.Partition, r.WorkflowID, d.Next)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// followed reports whether a run that has ended for good has a later run in its chain: it was
// reset then. The later run shows what it took over of the earlier one, such as attempts.
func (s *pass) followed(ctx context.Context, r *store.Run) (bool, error) {
	if r.Latest {
		return false, nil
	}
	latest, err := s.Store.Find(ctx, r.Partition, r.WorkflowID, "")
	switch {
	case err == nil && latest.Chain == r.Chain:
		return latest.ID != r.ID && !s.gone[latest.ID], nil
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return false, err
	}
	// The ID was used again, so the rest of the chain is among earlier runs.
	filter := store.Filter{Partitions: []int{r.Partition}, IDPrefix: r.WorkflowID, Above: r.ID, Limit: page}
	for {
		rows, err := s.Store.List(ctx, filter)
		if err != nil {
			return false, err
		}
		for i := range rows {
			if rows[i].Chain == r.Chain && !s.gone[rows[i].ID] {
				return true, nil
			}
		}
		if len(rows) < page {
			return false, nil
		}
		filter.Before = rows[len(rows)-1].ID
	}
}

// longAgo reports whether something that ended then is past its retention.
func (s *pass) longAgo(ended int64, keep time.Duration) bool {
	return keep > 0 && ended > 0 && ended < s.now-int64(keep)
}

// rest deletes old counters and superseded switches.
func (s *pass) rest(ctx context.Context) error {
	before := func(keep time.Duration) int64 {
		if keep == 0 {
			return 0
		}
		return max(s.now-int64(keep), 0)
	}
	switches := before(s.keep.Switches)
	for _, p := range s.partitions {
		d := store.Deletion{Partition: p, TalliesBefore: before(s.keep.Statistics)}
		if p == s.Group.First { // one node deletes switches for the group
			d.Group, d.SwitchesBefore = s.Name, switches
		}
		if d.TalliesBefore == 0 && d.SwitchesBefore == 0 {
			continue
		}
		if err := s.delete(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes one batch and rests. The longer the sweep takes, the shorter the rests;
// otherwise runs could close faster than they are deleted.
func (s *pass) delete(ctx context.Context, d store.Deletion) error {
	if s.dry {
		return nil
	}
	began := time.Now()
	if _, err := s.Store.Delete(ctx, d); err != nil {
		return err
	}
	took := time.Since(began)
	if took > long {
		s.batch = max(s.batch/2, 1)
	} else if took < short {
		s.batch = min(s.batch*2, page)
	}
	late := 1 + float64(time.Since(s.began))/float64(s.Every)
	return s.wait(ctx, time.Duration(float64(max(restFactor*took, restAtLeast))/late))
}

// wait blocks for d. It returns early with an error when ctx or the engine ends.
func (s *pass) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.Context.Done():
		return context.Cause(s.Context)
	}
}

// The first sweep comes soon: a node that is deployed again and again must delete, too.
const soon = 20

// Run sweeps periodically. Without a retention it only warns, from MaxKept on, each time the number
// of closed runs reaches a new maximum. It returns when the engine ends.
func (w *Sweeper) Run() {
	c, most := &w.config, w.config.MaxKept-1
	next, do := c.Every, w.sweepOwn
	if c.Retention == (view.Retention{}) {
		next, do = growthEvery*c.Every, func() { most = w.warn(most) }
	}
	for every := c.Every / soon; clock.Pause(c.Context, every); every = next {
		do()
	}
}

// sweepOwn deletes closed runs from the partitions of this node.
func (w *Sweeper) sweepOwn() {
	c := &w.config
	result, err := w.Sweep(c.Context, c.Retention, c.Owned(), false)
	if c.Context.Err() != nil {
		return
	}
	if err != nil {
		c.Log.SweepFailed(err)
		return
	}
	w.last.Store(c.Clock.Now())
	if result.Runs > 0 {
		c.Log.Swept(result.Runs)
	}
}

// growthEvery is the number of sweep intervals between two counts of closed runs in an engine
// without a retention: about a day by default.
const growthEvery = 144

// warn warns if more closed runs are kept than most, and returns the new maximum.
func (w *Sweeper) warn(most int) int {
	counts, err := w.config.Store.Counts(w.config.Context, w.config.Owned(), 0)
	if err != nil {
		return most // an outage, logged elsewhere
	}
	kept := 0
	for status, n := range counts.Runs {
		if !status.Open() {
			kept += n
		}
	}
	if kept > most {
		w.config.Log.KeptForever(kept)
	}
	return max(kept, most)
}
