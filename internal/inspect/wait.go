package inspect

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/perdure/perdure/gate/spec"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/gates"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// obstacles are what may block many calls: activities and gates. Gates are read on demand,
// without the calls at them.
type obstacles struct {
	in     *Inspector
	paused map[string]store.Switch
	gates  map[string]*core.GateDetail // nil: the gate does not exist yet
	open   openKeys                    // nil: not read yet
	queues *serving                    // nil: not read yet
	nodes  []store.Member              // nil: not read yet
	builds *builds
}

func (in *Inspector) obstacles(ctx context.Context) (*obstacles, error) {
	paused, err := in.paused(ctx)
	if err != nil {
		return nil, err
	}
	b, err := in.builds(ctx)
	return &obstacles{in: in, paused: paused, gates: map[string]*core.GateDetail{}, builds: b}, err
}

// gate returns the state of a gate, nil if no message has reached it.
func (o *obstacles) gate(ctx context.Context, name string) (*core.GateDetail, error) {
	if d, known := o.gates[name]; known {
		return d, nil
	}
	place := entity.Find(o.in.group, entity.Gate, name)
	row, err := o.in.db.Find(ctx, place.Partition, place.WorkflowID, place.Run)
	if errors.Is(err, store.ErrNotFound) {
		o.gates[name] = nil
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := core.DecodeGate(row.Detail)
	if damageOf(err) != nil && !readable(err) { // what is at the gate still waits for it
		o.gates[name] = nil
		return nil, nil
	}
	o.gates[name] = &d
	return &d, nil
}

// atGate adds why a call of a run key does not pass a gate.
func (o *obstacles) atGate(ctx context.Context, w *view.Wait, key string) error {
	w.For = view.WaitGate
	d, err := o.gate(ctx, w.Gate)
	if d == nil || gateObstacle(d, o.in.now(), w) || !d.Spec.Breaker.PerKey {
		return err
	}
	open, err := o.openKeys(ctx)
	if until, is := open[w.Gate][key]; is {
		w.For, w.Key, w.Until = view.WaitBreaker, key, optional(until)
	}
	return err
}

// openKeys are the run keys whose own breakers are open, and until when, by gate.
type openKeys map[string]map[string]int64

// maxOpenKeys is how many of them are read.
const maxOpenKeys = 10_000

func (o *obstacles) openKeys(ctx context.Context) (_ openKeys, err error) {
	if o.open == nil {
		o.open, err = o.in.openKeys(ctx)
	}
	return o.open, err
}

func (in *Inspector) openKeys(ctx context.Context) (openKeys, error) {
	rows, err := in.db.Waiting(ctx, store.CallFilter{Partitions: in.group.All(), State: store.GateTripped, Limit: maxOpenKeys})
	if err != nil {
		return nil, err
	}
	open := openKeys{}
	for i := range rows {
		r, err := core.DecodeShare(rows[i].Data)
		if err != nil || r.OpenUntil <= in.now() { // the status names a gate that cannot be read
			continue
		}
		gate := entity.NameOf(rows[i].Run)
		if open[gate] == nil {
			open[gate] = map[string]int64{}
		}
		open[gate][rows[i].Name] = r.OpenUntil
	}
	return open, nil
}

func hasBreaker(d *core.GateDetail) bool { return d.Spec.Breaker != (spec.Breaker{}) }

func breakerOpen(d *core.GateDetail, now int64) bool {
	return hasBreaker(d) && d.Record.OpenUntil > now
}

// gateObstacle reports what stops all attempts at a gate, if anything does.
func gateObstacle(d *core.GateDetail, now int64, w *view.Wait) (obstacle bool) {
	switch {
	case d.Pause != nil:
		w.For, w.By, w.Why = view.WaitGatePaused, d.Pause.By, d.Pause.Reason
	case breakerOpen(d, now):
		w.For, w.Until = view.WaitBreaker, optional(d.Record.OpenUntil)
	default:
		return false
	}
	return true
}

// ofRow returns what a call of a workflow waits for according to its row. The row of a gated
// call does not name the gate.
func (o *obstacles) ofRow(c *store.Call, workflow string) view.Wait {
	w := view.Wait{Call: c.Number, Name: c.Name, For: rowWaits[c.State]}
	if c.State == store.Offered || c.State == store.Remote {
		w.Queue = c.Queue
	}
	p, err := core.DecodeProgress(c.Data)
	if damage := damageOf(err); damage != nil && !damage.Coded {
		return damagedWait(w, damage)
	}
	w.Failures = p.Failures
	w.Error, w.ErrorType = told(p.Last)
	switch since := cmp.Or(p.QueuedAt, p.First); {
	case c.State == store.Backoff:
		w.Since, w.Until = optional(failedAt(p)), optional(c.Due)
	case c.State == store.Quarantined:
		w.Since = optional(failedAt(p))
		w.Crashes, w.NoOtherBuild = o.builds.crashes(p)
	case ahead(c, p, o.in.now()):
		w.For, w.Since, w.Until = view.WaitBackoff, optional(failedAt(p)), optional(p.StartedAt)
	case c.State == store.Dispatched, c.State == store.External, c.State == store.Remote:
		w.Since = optional(cmp.Or(p.StartedAt, since))
	default:
		w.Since = optional(since)
	}
	if p.Pause != nil && c.State != store.Dispatched && c.State != store.Remote {
		w.Since, w.By, w.Why = optional(p.Pause.At), p.Pause.By, p.Pause.Reason
	}
	if c.State == store.Queued {
		w.Why = p.Unserved
	}
	code := CodeName(workflow, c.Name, p.Inline)
	if off, paused := o.paused[code]; paused && (c.State == store.Queued || c.State == store.Offered) {
		w.For, w.Name, w.By, w.Why, w.Until = view.WaitActivityPaused, code, off.By, off.Why, optional(off.Ends())
	}
	return w
}

// CodeName returns the name under which the code of a call is paused: that of its activity, or of
// the inline step.
func CodeName(workflow, call string, inline bool) string {
	if inline {
		return store.StepName(workflow, call)
	}
	return call
}

// failedAt returns since when a call is in backoff: the time of its last recorded failure.
func failedAt(p *core.Progress) int64 {
	if n := len(p.Errors); n > 0 {
		return max(p.First, p.Errors[n-1].At*1e6)
	}
	return cmp.Or(p.QueuedAt, p.First)
}

var rowWaits = map[store.CallState]string{
	store.Queued: view.WaitSlot, store.Dispatched: view.WaitAttempt, store.External: view.WaitExternal, store.Backoff: view.WaitBackoff,
	store.Offered: view.WaitQueue, store.Remote: view.WaitAttempt, store.Gated: view.WaitGate, store.Paused: view.WaitPaused, store.Quarantined: view.WaitQuarantined, store.InDoubt: view.WaitInDoubt,
}

// heldRun returns why a run as a whole does not continue, or nil if it does.
func heldRun(row *store.Run) *view.Wait {
	d, err := core.DecodeDetail(row.Detail)
	w := &view.Wait{Name: row.Type, Since: optional(d.Since), Why: d.Reason}
	if damage := damageOf(err); damage != nil && !damage.Coded {
		*w = damagedWait(*w, damage)
		return w
	}
	switch row.Status {
	case store.Parked:
		w.For, w.Broken = view.WaitParked, d.Broken
		if d.Damaged {
			w.For = view.WaitDamaged
		}
	case store.WaitingForCode:
		w.For, w.Build = view.WaitCode, d.Pin
	case store.OnHold:
		w.For = view.WaitPaused
		if p := d.Paused; p != nil {
			w.Since, w.By, w.Why = optional(p.At), p.By, p.Reason
		}
	default:
		return unbegun(row, &d)
	}
	return w
}

// unbegun returns what a run waits for whose code may not begin yet, or nil for any other run.
func unbegun(row *store.Run, d *core.Detail) *view.Wait {
	switch a := d.Admission; {
	case a != nil && !a.Held:
		return &view.Wait{For: view.WaitGate, Gate: gates.Runs, Name: row.Type, Since: optional(a.Since)}
	case store.IsInLine(row.Wake): // it has not begun
		return &view.Wait{For: view.WaitSlot, Name: row.Type, Since: optional(row.Created)}
	}
	return nil
}

// shortHistory is how many turns of a run a listing reads to say what the run waits for.
const shortHistory = 200

// addWait adds to a run of a listing what it waits for.
func (o *obstacles) addWait(ctx context.Context, row *store.Run, v *view.Run) error {
	if !row.Status.Open() {
		return nil
	}
	switch v.Wait = heldRun(row); {
	case v.Wait == nil:
	case v.Wait.Gate != "":
		return o.atGate(ctx, v.Wait, row.Key)
	default:
		return o.awaitsBuild(ctx, row, v.Wait)
	}
	all, err := o.waits(ctx, row)
	if len(all) == 0 || err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b view.Wait) int { return cmp.Compare(view.WaitRank(a.For), view.WaitRank(b.For)) })
	v.Wait = &all[0]
	v.Wait.Others = len(all) - 1
	for i := range all {
		w := &all[i]
		if w.Failures > 0 && slices.Contains(retryWaits, w.For) {
			v.Wait.Retrying++
		}
		if w.For == view.WaitPaused || w.For == view.WaitActivityPaused {
			v.Wait.Paused++
		}
	}
	return nil
}

// retryWaits are the waits of calls whose next attempt has not begun.
var retryWaits = []string{
	view.WaitBackoff, view.WaitGate, view.WaitGatePaused, view.WaitBreaker, view.WaitSlot, view.WaitQueue, view.WaitUnserved, view.WaitActivityPaused,
}

// waits returns what the open calls of a run wait for. For a run with a long history it
// knows only the calls that have a row.
func (o *obstacles) waits(ctx context.Context, row *store.Run) (all []view.Wait, err error) {
	s, complete, err := o.in.begin(ctx, row, shortHistory)
	if err != nil {
		return nil, err
	}
	known := map[int64]view.Call{}
	if complete {
		for _, p := range s.Pending() {
			known[p.Call] = p
			if _, has := s.rows[p.Call]; !has {
				all = append(all, pendingWait(&p))
			}
		}
	}
	for _, number := range slices.Sorted(maps.Keys(s.rows)) {
		p, open := known[number]
		if complete && !open {
			continue // it has closed meanwhile
		}
		c := s.rows[number]
		w := o.ofRow(&c, row.Type)
		if err := errors.Join(o.atQueue(ctx, &w), o.atSlot(ctx, &w)); err != nil {
			return nil, err
		}
		if w.For == view.WaitGate && p.Gate != nil {
			w.Gate = p.Gate.Name
			if err := o.atGate(ctx, &w, row.Key); err != nil {
				return nil, err
			}
		}
		all = append(all, w)
	}
	if complete {
		return all, nil
	}
	switch {
	case len(all) > 0 || row.Wake <= store.Hot:
	case row.Wake == store.Never:
		all = append(all, view.Wait{For: view.WaitMessage})
	default:
		all = append(all, view.Wait{For: view.WaitTimer, Until: optional(row.Wake)})
	}
	return all, nil
}

// pendingWait returns what a call without a row waits for.
func pendingWait(p *view.Call) view.Wait {
	w := view.Wait{Call: p.Call, Name: p.Name, For: view.WaitAttempt, Since: &p.Scheduled, Until: p.Next}
	switch p.Kind {
	case "timer":
		w.For = view.WaitTimer
	case "signal":
		w.For = view.WaitSignal
	case "child", "detached":
		w.For = view.WaitChild
	}
	return w
}
