package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/store"
)

// sight is what the database knows about a turn.
type sight struct {
	taken   bool // a turn with its number exists
	commit  int64
	exists  bool   // the turn's own run exists
	created string // workflow ID of the existing run with the ID of the one to create, "" if there is none
	latest  *store.Run
}

// makePlans looks at the database, marks the turns that are already durable or refused, and
// plans the others. The turns concern different runs.
func (k *resultWriter) makePlans(ctx context.Context, part []int) ([]plan, error) {
	turns, sights := k.these(part), make([]sight, len(part))
	if err := k.c.send(ctx, func(b *batch) { b.look(turns, sights) }); err != nil {
		return nil, err
	}
	var plans []plan
	closing := map[string]bool{} // runs that turns of the batch will close
	for n, i := range part {
		p := plan{i: i, turn: *turns[n]}
		durable, err := k.judge(&p, &sights[n])
		if err == nil && !durable {
			err = k.deliverable(ctx, k.c, &p.turn)
		}
		if _, driver := errors.AsType[*driverError](err); driver {
			return nil, err
		}
		if k.errs[i] = err; durable {
			continue
		}
		if state := p.turn.State; err == nil && state != nil && !state.Status.Open() {
			closing[p.turn.Run] = true
		}
		plans = append(plans, p)
	}
	return slices.DeleteFunc(plans, func(p plan) bool { return !k.hopeful(&p, closing) }), nil
}

// hopeful reports whether a plan is worth a try: it was not refused, or was refused only
// because of a run that another turn will close.
func (k *resultWriter) hopeful(p *plan, closing map[string]bool) bool {
	conflict, ok := errors.AsType[*store.ConflictError](k.errs[p.i])
	return k.errs[p.i] == nil || ok && conflict.Existing.ID != p.turn.Run && closing[conflict.Existing.ID]
}

// judge reports whether a turn is already durable. Otherwise it returns why the turn is
// refused, or plans how to write it.
func (k *resultWriter) judge(p *plan, s *sight) (durable bool, err error) {
	t := &p.turn
	switch {
	case s.taken && t.Number > 0 && s.commit == t.CommitID:
		return true, nil
	case t.Number == 0 && t.Create != nil && s.created == t.Create.WorkflowID:
		return true, nil
	case k.spoiled[p.i] != nil:
		return false, k.spoiled[p.i]
	case !k.holds(t):
		return false, store.ErrFenced
	case s.taken:
		return false, store.ErrStale
	case !s.exists && !t.CreatesItsRun() && t.NeedsRun():
		return false, store.ErrNotFound
	}
	return false, s.place(p)
}

// place plans how to create the run of a turn. It considers the state that the turn gives
// its own run, which may close the run that the new one follows.
func (s *sight) place(p *plan) error {
	t := &p.turn
	switch {
	case t.Create == nil:
		return nil
	case s.created != "" && s.created != t.Create.WorkflowID:
		return fmt.Errorf("run %q exists already, for workflow ID %q", t.Create.ID, s.created)
	case s.created != "":
		t.Create = nil
		return nil
	case s.latest == nil:
		return nil
	}
	status := s.latest.Status
	if t.State != nil && s.latest.ID == t.Run {
		status = t.State.Status
	}
	if !t.Create.MayFollow(s.latest) || status.Open() {
		return &store.ConflictError{Existing: *s.latest}
	}
	p.follows = s.latest.ID
	return nil
}

var (
	lookForTurns = forms(`SELECT w.place - 1, t.commit_id FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) WITH ORDINALITY AS w (partition, run, number, place)
		JOIN perdure.turns t ON t.partition =@ w.partition AND t.run = w.run AND t.number = w.number`)
	lookForOwn = forms(`SELECT w.place - 1 FROM unnest($1::bigint[], $2::bytea[]) WITH ORDINALITY AS w (partition, run, place)
		JOIN perdure.runs r ON r.partition =@ w.partition AND r.id = w.run`)
	lookForCreated = forms(`SELECT w.place, r.workflow_id FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS w (place, partition, run)
		JOIN perdure.runs r ON r.partition =@ w.partition AND r.id = w.run`)
	lookForLatest = forms(`SELECT w.place, ` + runColumnsHere + ` FROM unnest($1::bigint[], $2::bigint[], $3::text[]) AS w (place, home, workflow)
		JOIN perdure.runs ON partition =@ w.home AND workflow_id = w.workflow AND latest`)
)

// look adds the queries that fill in the sights of the turns.
func (b *batch) look(turns []*store.Turn, sights []sight) {
	if b.oneByOne(turns, func(i int) { b.look(turns[i:i+1], sights[i:i+1]) }) {
		return
	}
	b.ask(lookForTurns,
		[]any{partitions(turns), runs(turns), column(len(turns), func(n int) int64 { return turns[n].Number })}, func(r pgx.Rows) error {
			var n int
			var commit int64
			err := r.Scan(&n, &commit)
			sights[n].taken, sights[n].commit = true, commit
			return err
		})
	b.ask(lookForOwn,
		[]any{partitions(turns), runs(turns)}, func(r pgx.Rows) error {
			var n int
			err := r.Scan(&n)
			sights[n].exists = true
			return err
		})
	b.lookForRuns(turns, sights)
}

// lookForRuns adds the queries that tell whether the turns' new runs can be created.
func (b *batch) lookForRuns(turns []*store.Turn, sights []sight) {
	if b.oneByOne(turns, func(i int) { b.lookForRuns(turns[i:i+1], sights[i:i+1]) }) {
		return
	}
	var creating []int
	for n, t := range turns {
		if t.Create != nil {
			creating = append(creating, n)
		}
	}
	if len(creating) == 0 {
		return
	}
	places := column(len(creating), func(n int) int64 { return int64(turns[creating[n]].Partition) })
	b.ask(lookForCreated,
		[]any{creating, places, runColumn(len(creating), func(n int) string { return turns[creating[n]].Create.ID })}, func(r pgx.Rows) error {
			var n int
			var workflow string
			err := r.Scan(&n, &workflow)
			sights[n].created = workflow
			return err
		})
	b.ask(lookForLatest,
		[]any{creating, places, column(len(creating), func(n int) string { return turns[creating[n]].Create.WorkflowID })}, func(r pgx.Rows) error {
			var n int
			run := &store.Run{}
			err := r.Scan(append([]any{&n}, runFields(run)...)...)
			sights[n].latest = run
			return err
		})
}
