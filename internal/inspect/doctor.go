package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

const (
	doctorRuns  = 200  // rows per page
	doctorTurns = 1000 // turns per page
	// settled is how long a problem must have lasted that a message in transit could solve.
	settled = 10 * time.Minute
)

// doctor checks everything on record.
type doctor struct {
	in     *Inspector
	filter view.DoctorFilter
	out    view.Checkup
	// coded are the reasons why documents cannot be decoded. Without a key that affects all
	// documents of a database, so one finding per reason is enough.
	coded     map[string]*undecoded
	obstacles *obstacles
}

// undecoded counts the documents that cannot be decoded for one reason.
type undecoded struct {
	finding   int // index of its finding
	documents int
	runs      int    // counted as runs come one after the other
	last      string // run ID
}

// Doctor reads everything on record of the group's runs, gates and schedules, and returns
// what is wrong.
func (in *Inspector) Doctor(ctx context.Context, f view.DoctorFilter) (*view.Checkup, error) {
	if err := in.check(ctx); err != nil {
		return nil, err
	}
	if err := checkLimit(f.Limit); err != nil {
		return nil, err
	}
	f.Limit = cmp.Or(f.Limit, 1000)
	if f.Progress == nil {
		f.Progress = func(int) {}
	}
	d := &doctor{in: in, filter: f, out: view.Checkup{Findings: []view.Finding{}}, coded: map[string]*undecoded{}, obstacles: &obstacles{in: in}}
	for _, look := range []func(context.Context) error{d.database, d.activities, d.runs, d.gates, d.schedules} {
		if err := look(ctx); wanted(err) != nil {
			return nil, err
		}
	}
	d.sumUp()
	d.out.OK = len(d.out.Findings) == 0
	return &d.out, nil
}

// find adds a finding. It returns errEnough if the limit is reached.
func (d *doctor) find(f view.Finding) error {
	if len(d.out.Findings) == d.filter.Limit {
		d.out.More = true
		return errEnough
	}
	d.out.Findings = append(d.out.Findings, f)
	return nil
}

// damage adds a finding about unreadable data. It does nothing if err is nil.
func (d *doctor) damage(at view.Finding, err error) error {
	damage := damageOf(err)
	if damage == nil {
		return err
	}
	at.Kind, at.Turn, at.Problem = view.FindingDamage, damage.Turn, damage.Error()
	restore := "restore the database from a backup and start the engine again"
	switch {
	case errors.Is(damage, history.ErrMissing):
		at.Kind = view.FindingMissing
	case damage.Newer:
		at.Kind, restore = view.FindingNewer, "run a newer version; if none has written it, "+restore
	}
	switch {
	case damage.Coded && d.known(&at, damage):
		return nil
	case damage.Coded:
		at.Kind, at.Do = view.FindingCoded, "look again with the codec that wrote it: perdure doctor --codec FILE"
	case at.Gate != "" || at.Schedule != "":
		at.Do = restore
	case store.Status(at.Status).Open():
		at.Do = restore + ", reset the run to a call before the damage, or terminate it"
	default:
		at.Do = "delete it with perdure gc, or let retention do so: the run has ended, so nothing else depends on it; to read it, " + restore
	}
	return d.find(at)
}

// known counts a document that cannot be decoded, and reports whether a finding already
// covers it.
func (d *doctor) known(at *view.Finding, damage *history.DamageError) bool {
	cause := damage.Err.Error()
	c, known := d.coded[cause]
	if !known {
		c = &undecoded{finding: len(d.out.Findings)}
		d.coded[cause] = c
	}
	c.documents++
	if at.RunID != c.last && at.RunID != "" {
		c.runs, c.last = c.runs+1, at.RunID
	}
	return known
}

// sumUp adds the counts to the findings about documents that cannot be decoded.
func (d *doctor) sumUp() {
	for _, c := range d.coded {
		if c.documents > 1 && c.finding < len(d.out.Findings) {
			d.out.Findings[c.finding].Problem += fmt.Sprintf("; so it is with %d documents, of %d runs", c.documents, c.runs)
		}
	}
}

// database adds what the store finds wrong below its contract, if it can examine that.
func (d *doctor) database(ctx context.Context) error {
	db, ok := d.in.db.(store.Examiner)
	if !ok {
		return nil
	}
	found, err := db.Examine(ctx)
	if err != nil {
		return err
	}
	for _, s := range found {
		if err := d.find(view.Finding{Kind: s.Kind, Subject: s.Subject, Problem: s.Problem, Do: s.Do}); err != nil {
			return err
		}
	}
	return nil
}

// activities adds the activities that are held because their calls ended processes.
func (d *doctor) activities(ctx context.Context) error {
	off, err := d.in.paused(ctx)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(off)) {
		w := off[name]
		if w.Kind != store.SwitchCrash {
			continue
		}
		if err := d.find(view.Finding{
			Kind: view.FindingCrash, Subject: "activity " + name, Problem: w.Why,
			Do: "mend the activity and deploy it, or let it be tried again: perdure resume --activity " + name,
		}); err != nil {
			return err
		}
	}
	return nil
}

// runs reads the runs partition by partition. Order does not matter here, and a page then
// costs only what is on it; the newest of all partitions would be chosen from a page of
// each.
func (d *doctor) runs(ctx context.Context) error {
	for _, partition := range d.in.group.All() {
		filter := Bounded(store.Filter{Partitions: []int{partition}, Since: d.filter.Since, Limit: doctorRuns})
		err := d.in.eachRow(ctx, filter, func(row *store.Run) error {
			if d.out.Runs++; d.out.Runs%doctorRuns == 0 {
				d.filter.Progress(d.out.Runs)
			}
			return d.run(ctx, row)
		})
		if err != nil {
			return err
		}
		d.filter.Progress(d.out.Runs)
	}
	return nil
}

func (d *doctor) run(ctx context.Context, row *store.Run) error {
	at := view.Finding{WorkflowID: row.WorkflowID, RunID: row.ID, Status: string(row.Status)}
	start, err := record.Start(row)
	var check rowCheck
	if err == nil && row.Status.Open() {
		check.of = core.Examine(start)
	}
	if err := d.damage(at, err); err != nil {
		return err
	}
	detail, err := core.DecodeDetail(row.Detail)
	if err := d.damage(at, err); err != nil {
		return err
	}
	if row.Status == store.Parked && detail.Deaths > 0 {
		crash := at
		crash.Kind, crash.Problem = view.FindingCrash, detail.Reason
		crash.Do = "mend the code and deploy it, or let it be tried again: perdure resume-run " + row.WorkflowID
		if err := d.find(crash); err != nil {
			return err
		}
	}
	calls, err := d.in.db.Calls(ctx, row.Partition, row.ID)
	if err != nil {
		return err
	}
	for i := range calls {
		if err := d.unserved(ctx, at, &calls[i]); err != nil {
			return err
		}
	}
	kept, err := d.in.db.Attempts(ctx, row.Partition, row.ID, store.AttemptRange{})
	if err != nil {
		return err
	}
	for _, a := range kept {
		var detail core.AttemptDetail
		if err := history.Unseal(a.Data, &detail); err != nil {
			if err := d.damage(at, history.Damaged(fmt.Sprintf("the record of attempt %d of call %d", a.Number, a.Call), err)); err != nil {
				return err
			}
		}
	}
	if err := d.turns(ctx, row, &start, at, &check); err != nil {
		return err
	}
	return d.callRows(ctx, row, at, &check, calls)
}

// unserved adds the calls of a row that no live node runs.
func (d *doctor) unserved(ctx context.Context, at view.Finding, c *store.Call) error {
	p, err := core.DecodeProgress(c.Data)
	if err != nil || c.State != store.Queued || p.Unserved == "" {
		return nil // what cannot be read is found with the row
	}
	w := view.Wait{For: view.WaitSlot, Name: c.Name, Why: p.Unserved}
	if err := d.obstacles.atSlot(ctx, &w); err != nil || w.For != view.WaitUnserved {
		return err
	}
	at.Kind = view.FindingUnserved
	at.Do = "start a process of the group that has the activity and allows what it needs"
	for number := range c.Numbers() {
		at.Problem = fmt.Sprintf("call %d (%s) waits: %s", number, c.Name, w.Why)
		if err := d.find(at); err != nil {
			return err
		}
	}
	return nil
}

func (d *doctor) turns(ctx context.Context, row *store.Run, start *history.Start, at view.Finding, check *rowCheck) (wrong error) {
	_, err := d.in.each(ctx, row, start, 0, doctorTurns, func(some stretch) (more bool) {
		check.add(some.turns, some.damage)
		for _, damage := range some.damage {
			if wrong = d.damage(at, damage); wrong != nil {
				return false
			}
		}
		d.out.Turns += some.rows
		return true
	})
	return cmp.Or(wrong, err)
}

func (d *doctor) gates(ctx context.Context) error {
	return d.in.eachStanding(ctx, entity.Gate, func(row *store.Run) error {
		d.out.Others++
		at := view.Finding{Gate: entity.NameOf(row.ID)}
		g, err := d.in.Gate(ctx, at.Gate)
		if errors.Is(err, store.ErrNotFound) {
			return nil // deleted meanwhile
		}
		if err != nil {
			return d.damage(at, err)
		}
		for _, t := range g.Tickets() {
			if err := d.ticket(ctx, at, t.Key, t.Since); err != nil {
				return err
			}
		}
		return nil
	})
}

// ticket checks whether a run that is at a gate has ended.
func (d *doctor) ticket(ctx context.Context, at view.Finding, key core.TicketKey, since int64) error {
	row, err := d.in.db.Find(ctx, entity.Place(d.in.group, key.Workflow), key.Workflow, key.Run)
	how := "does not exist"
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	case row.Status.Open():
		return nil
	default:
		how, since = "has ended", max(since, row.Closed)
	}
	if d.in.now()-since < int64(settled) {
		return nil // a message may be in transit
	}
	at.Kind, at.WorkflowID, at.RunID = view.FindingLeak, key.Workflow, key.Run
	at.Problem = fmt.Sprintf("call %d of a run that %s is at the gate", key.Call, how)
	at.Do = "let an engine serve the group: the gate asks after those who hold it every five minutes; report it if that does not help"
	return d.find(at)
}

func (d *doctor) schedules(ctx context.Context) error {
	var stop error
	err := d.in.eachTimetable(ctx, func(name string, _ *core.Timetable, damage error) {
		d.out.Others++
		if stop == nil {
			stop = d.damage(view.Finding{Schedule: name}, damage)
		}
	})
	return errors.Join(err, stop)
}
