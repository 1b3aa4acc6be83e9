package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/hold"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/report"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
)

// errGone reports that there is no such run, or that it has ended.
var errGone = errors.New("the run is gone")

// errWithoutCode reports that a run was loaded without its code, because a message was to end
// it, but did not end. It is loaded again.
var errWithoutCode = errors.New("the run was loaded without its code")

// load brings a run into memory: from the database, or newly created. If its code is missing
// or does not fit, the run is loaded without code and held.
func (r *activeRun) load(todo []post.Mail) error {
	e := r.engine
	e.residents.loading <- struct{}{}
	defer func() { <-e.residents.loading }()
	past, err := r.readPast(todo)
	if damage, is := errors.AsType[*history.DamageError](err); is {
		return r.loadDamaged(past, damage, todo)
	}
	if err != nil {
		return err
	}
	moved := false
	if n := len(past.Turns); n > 0 && past.Turns[n-1].Epoch != r.location.Epoch {
		last := past.Turns[n-1].Epoch
		r.location.Lineage.CameFrom(last)
		moved = store.WardOf(last) != r.location.Ward
	}
	heard := int64(0)
	// Runs have arrived, and their messages with them. Another run may have learned that before,
	// and have heard only its own.
	if known, _ := r.location.Lineage.Known(); !known || moved {
		heard = e.clock.Now()
	}
	if r.create == nil { // else nobody knew it before
		if err := r.location.hearSince(past.Start.WorkflowID, heard); err != nil {
			return err
		}
	}
	if err := r.location.learnLineage(); err != nil {
		return err
	}
	r.first = store.IsInLine(past.State.Wake) // even if a message lets it begin
	if r.endsSoon(todo) {
		err = r.loadWithoutCode(past, nil)
	} else if r.bringsSuspicion(past, todo) {
		return errUntried
	} else if away := r.sendToBegin(past, todo); away != nil {
		return away
	} else if h, stopped := r.loadWithCode(past); stopped != nil {
		return stopped
	} else if h != nil {
		if err := r.sendAway(past, h, todo); err != nil {
			return err
		}
		err = r.loadWithoutCode(past, h)
	} else if r.run.Resume() {
		e.log.RunGoesOn(report.Of(&past.Start), string(past.State.Status))
	}
	if err != nil {
		return r.loadDamaged(past, err, todo)
	}
	return nil
}

// endsSoon reports whether a message ends the run whatever its code does. Then the code is not
// loaded, because it may be what crashes the process.
func (r *activeRun) endsSoon(todo []post.Mail) bool {
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	return post.Ends(todo) || post.Ends(r.mail)
}

// readPast reads the record of a run. A child that was just started has none yet. With a
// *history.DamageError it also returns what could be read.
func (r *activeRun) readPast(todo []post.Mail) (*core.Past, error) {
	e := r.engine
	if r.pending != nil {
		e.clock.AtLeast(r.pending.start.Created)
		return r.pending.past(), nil
	}
	rec, err := r.readRecord()
	switch {
	case r.location.Ward != 0 && isOver(rec, err): // its home has the messages again, and may be reading them
		r.isElsewhere(todo, 0)
		return nil, errElsewhere
	case isOver(rec, err):
		if err == nil && rec.Run.Status == store.Continued { // what is for the latest run is for its successors
			again, rest := post.Divide(todo)
			r.location.routeAgain(again)
			todo = rest
		}
		r.discard(todo)
		return nil, errGone
	case errors.Is(err, ErrStopped):
		return nil, err
	case err == nil && rec.Run.Ward != r.location.Ward:
		r.isElsewhere(todo, rec.Run.Ward)
		return nil, errElsewhere
	case err != nil: // it would fail again
		r.parkCulprit(err)
		return nil, err
	}
	past, err := record.Decode(rec)
	if n := len(past.Turns); n > 0 {
		e.clock.AtLeast(past.Turns[n-1].Time) // engine time is never before the last turn
	}
	return past, err
}

// isOver reports whether the record that was read is of no open run.
func isOver(rec *store.Record, err error) bool {
	return errors.Is(err, store.ErrNotFound) || err == nil && !rec.Run.Status.Open()
}

// readRecord reads the record of a resident. For a run in line that is only its row: it has
// taken no step yet.
func (r *resident) readRecord() (*store.Record, error) {
	e := r.location.engine
	if r.first {
		row, err := outage.Read(e.life.ctx, e.db.reads, "loading run "+r.id, func(ctx context.Context) (*store.Run, error) {
			return e.db.Find(ctx, r.location.Partition, "", r.id)
		})
		if err != nil {
			return nil, err
		}
		if store.IsInLine(row.Wake) {
			return &store.Record{Run: *row}, nil
		}
	}
	return outage.Read(e.life.ctx, e.db.reads, "loading run "+r.id, func(ctx context.Context) (*store.Record, error) {
		return e.db.Load(ctx, r.location.Partition, r.id)
	})
}

// loadWithCode replays a run with its code. A non-nil hold says why that is not possible. The
// error is that the engine stops.
func (r *activeRun) loadWithCode(past *core.Past) (*hold.Hold, error) {
	e := r.engine
	r.pin = core.PinIn(&past.Start, past.Turns)
	if h := e.holds.Missing(past.Start.Type, r.pin); h != nil {
		return h, nil
	}
	def := e.registry.Workflow(past.Start.Type)
	if h := e.holds.Still(def, past); h != nil {
		return h, nil
	}
	if d, err := core.DecodeDetail(past.State.Detail); err == nil && d.LetGo(past.State.Status) {
		if err := r.obeyLetGo(past, d); err != nil {
			return nil, err
		}
	}
	suspect, _ := r.location.suspicion.Suspect(r.id)
	if h := e.holds.Crashing(def, suspect, r.workflowID); h != nil {
		return h, nil
	}
	run, instance, err := e.code.guard.Load(r.coreConfig(&past.Start), past, def, e.registry.Begin)
	switch {
	case errors.Is(err, ErrStopped):
		return nil, err
	case err != nil:
		return e.holds.Failed(e.registry.Fingerprint(def, r.pin), err), nil
	}
	r.run, r.instance, r.hold = run, instance, nil
	return nil, nil
}

// loadWithoutCode loads the machine of a run without code. If h is not nil, the run is held.
func (r *activeRun) loadWithoutCode(past *core.Past, h *hold.Hold) error {
	run := core.New(r.coreConfig(&past.Start), past.Start)
	if err := replay.Protect(func() error { return run.Load(past.Turns, past.Rows, past.State) }); err != nil {
		return err
	}
	r.run, r.instance, r.hold = run, nil, h
	if h != nil && run.Hold(h.Status, h.Detail) {
		r.engine.log.RunHeld(report.Of(&past.Start), string(h.Status), h.Detail.Reason, h.Detail.Stack)
	}
	return nil
}

// stepOrPark takes a step. If the code panics or gets stuck, or err is not nil, it takes the
// step without code, which parks the run.
func (r *activeRun) stepOrPark(t *turn, err error) (out *core.Turn, _ error) {
	e := r.engine
	inputs := r.inputs(t)
	if err == nil {
		if out, err = e.step(r, t.now, inputs); err == nil {
			return out, nil
		}
	}
	replay.Close(r.instance, err)
	r.instance = nil
	if e.life.ctx.Err() != nil || errors.Is(err, ErrStopped) {
		return nil, err
	}
	if hold.IsDamage(err) {
		r.parkCulprit(err)
		return nil, err
	}
	takenOver := r.takenOver(t)
	start := r.run.Start()
	h := e.holds.Failed(e.registry.Fingerprint(e.registry.Workflow(start.Type), r.run.Pin()), err)
	r.again = h.Detail.Mismatch != nil && e.db.Info().Wards
	if err := r.reloadHeld(start, h); err != nil {
		return nil, err
	}
	t.inputs = nil // stuck code may still read the list
	return e.step(r, t.now, append([]core.Input{takenOver}, inputs[1:]...))
}

// reloadHeld loads a run without its code after the code failed.
func (r *activeRun) reloadHeld(start history.Start, h *hold.Hold) error {
	past := &core.Past{Start: start, State: core.State{Status: core.StatusRunning}}
	if r.create == nil {
		rec, err := r.readRecord()
		if err != nil {
			return err
		}
		if past, err = record.Decode(rec); err != nil {
			return err
		}
	}
	err := r.loadWithoutCode(past, h)
	if err != nil {
		r.parkCulprit(err)
	}
	return err
}

// takenOver returns the first input of a run that was loaded. Alive are the attempts that this
// process runs as the run's owner, and those whose end is in the mail.
func (r *activeRun) takenOver(t *turn) core.TakenOver {
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	refs := e.attempts.Of(r.id, r.location.Epoch)
	for _, m := range slices.Concat(t.mail, r.mail) {
		if end, ok := m.Input.(core.AttemptEnded); ok && m.Unread == nil {
			refs = append(refs, core.AttemptRef{Call: end.Call, Attempt: end.Attempt})
		}
	}
	in := core.TakenOver{Alive: refs}
	if o := r.location.Lineage.Owners(); o != nil {
		in.Survivors, in.Unheard = o.Survivors, o.Unheard
	}
	suspect, _ := r.location.suspicion.Suspect(r.id)
	in.Excused, in.CopiedAt = suspect.Nodes, e.db.copied
	return in
}

func (r *activeRun) coreConfig(start *history.Start) core.Config {
	e := r.engine
	p := r.location
	r.start = start
	var retries *retry.Policy // even for code that does not fit its history
	build := ""
	if def := e.registry.Workflow(start.Type); def != nil {
		retries = def.Retry
		if def.Pinned {
			build = e.config.Build
		}
	}
	return core.Config{
		Node: p.Node, Retry: retries, Build: build, MaxHistory: e.config.MaxHistory, MaxPending: e.config.MaxPendingCalls, PerKey: e.config.PerKey, MaxBacklog: e.config.MaxSignalBacklog, Policy: &e.config.Policy, Draw: e.config.Draw, Near: int64(near), Ahead: int64(ahead),
		Unslotted: r.moving, Early: int64(early),
		Tell: e.config.OnPaused != nil, Closings: e.config.Closings != nil && e.config.Closings(start), Stopped: func(c *core.Call) bool { return r.seats.Stopped(r.code(c)) }, Lacks: func(c *core.Call) string { return r.lacks(c) },
		Owner: func(epoch int64) string { return p.Lineage.Owners().Node(epoch) },
	}
}
