package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/request"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// happen lets an event happen.
func (w *world) happen(ev *event) {
	w.trace.add(0, "happens", int(ev.what), 0, "")
	switch n, d := w.someone(ev.dice), ev.dice; ev.what {
	case joins:
		w.join(role(d.of("role").below(4)/3), d.of("who").below(4))
	case joinsBesides:
		if n != nil && n.role == server {
			w.begin(w.born(server, n.name, n.build))
		}
	case dies:
		if n != nil {
			n.die()
		}
	case leaves:
		if n != nil {
			w.leave(n, time.Duration(d.of("patience").below(8000))*time.Millisecond)
		}
	case freezes, isCutOff:
		if n != nil {
			until := time.Now().Add(time.Duration(d.of("long").below(20_000)) * time.Millisecond)
			n.mu.Lock()
			if ev.what == freezes {
				n.frozen = until
			} else {
				n.cut = until
			}
			n.mu.Unlock()
		}
	case databaseAway:
		w.mu.Lock()
		w.away = time.Now().Add(time.Duration(d.of("long").below(12_000)) * time.Millisecond)
		w.mu.Unlock()
	case storms, deadlyStorm:
		w.mu.Lock()
		w.storm = storm{
			oneIn: 2 + d.of("thick").below(12), deadly: ev.what == deadlyStorm,
			until: time.Now().Add(time.Duration(d.of("long").below(6000)) * time.Millisecond),
		}
		w.mu.Unlock()
	case clockSteps:
		w.mu.Lock()
		w.ahead += time.Duration(d.of("by").below(30_000)-15_000) * time.Millisecond
		w.mu.Unlock()
	case clientDies:
		w.mu.Lock()
		n := w.client
		w.mu.Unlock()
		n.die()
	case copiesAll:
		w.copyAll(d)
	default:
		w.errands.Go(func() { w.meddle(ev) })
	}
}

// someone is a process that is alive, nil if none is.
func (w *world) someone(d dice) *node {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.alive) == 0 {
		return nil
	}
	return w.alive[d.of("someone").below(len(w.alive))]
}

// leave lets a process leave in good order.
func (w *world) leave(n *node, patience time.Duration) {
	n.mu.Lock()
	e := n.engine
	n.mu.Unlock()
	if e == nil {
		n.die()
		return
	}
	w.gone(n)
	w.errands.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err := e.Stop(ctx)
		w.trace.explain("%s has left: %v", n, err)
		n.die()
	})
}

// reborn lets a client live, again and again until it does.
func (w *world) reborn() {
	for {
		n := w.born(client, "client", "1")
		if n.live(context.Background()) {
			w.mu.Lock()
			w.client = n
			w.mu.Unlock()
			if !n.isDead() {
				return
			}
		}
		time.Sleep(time.Second)
	}
}

// target is the workflow ID of a program.
func (w *world) target(d dice) string { return w.programs[d.of("target").below(len(w.programs))].id }

// mar notes that a program need not come to what is expected of it any more.
func (w *world) mar(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marred[id] = true
}

// rewind is mar for a program of which what clients are told need not fit together any more, too.
func (w *world) rewind(id string) {
	w.mar(id)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rewound[id] = true
}

// meddle lets a person do something.
func (w *world) meddle(ev *event) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, id, d := w.desk(), w.target(ev.dice), ev.dice
	control := func(in core.Control) {
		_, err := c.Control(ctx, id, "", in)
		w.tolerate(err, "%s of %s", in.Operation, id)
	}
	by := request.By{Who: "ann", Why: "a reason"}
	name := []string{"plain", "gated", "queued", "beating", "outside", "short/step"}[d.of("name").below(6)]
	switch ev.what {
	case pausesCall:
		control(core.Control{Operation: core.PauseCall})
	case resumesCalls:
		control(core.Control{Operation: core.ResumeCall})
	case retriesNow:
		control(core.Control{Operation: core.RetryNow})
	case editsPolicy:
		control(core.Control{Operation: core.EditPolicy, Change: fmt.Sprintf("[backoff: %dms, jitter: none]", 1+d.of("backoff").below(3000))})
	case switchesOff, switchesOn:
		lasts := time.Duration(0) // until somebody switches it on
		if ev.what == switchesOff && d.of("lasts").oneIn(2) {
			lasts = time.Duration(1+d.of("for").below(6000)) * time.Millisecond
		}
		_, err := c.SwitchActivity(ctx, name, ev.what == switchesOff, lasts, "", by)
		w.tolerate(err, "a switch of %s", name)
	case pausesGate, resumesGate:
		err := c.PauseGate(ctx, narrow.Name(), ev.what == pausesGate, by)
		w.tolerate(err, "a pause of the gate")
	case pausesRun:
		control(core.Control{Operation: core.PauseTheRun})
	case resumesRun:
		control(core.Control{Operation: core.ResumeTheRun})
	case movesRun:
		control(core.Control{Operation: core.MoveTheRun, To: buildOf(d.of("to").below(2))})
	case resetsRun:
		w.rewind(id)
		control(core.Control{Operation: core.ResetTheRun, Call: int64(1 + d.of("call").below(4))})
	case forksRun:
		w.fork(ctx, id, d)
	case skipsCall:
		w.rewind(id)
		result, _ := history.Encode(1)
		control(core.Control{Operation: core.Skip, Result: result})
	case failsCall:
		w.rewind(id)
		control(core.Control{Operation: core.FailNow, Failure: history.FromError(errUnlucky)})
	case cancelsAll:
		for i := range w.programs {
			w.rewind(w.programs[i].id) // who was canceled in bulk is not on record as asked to end
		}
		_, err := c.ControlAll(ctx, view.Filter{IDPrefix: "p"}, core.Control{Operation: core.CancelTheRun}, false)
		w.tolerate(err, "the end of all")
	case setsSchedule:
		every := time.Duration(1+d.of("every").below(4)) * time.Second
		n, _ := history.Encode(1000 + d.of("of").below(1000))
		overlap := []schedule.Overlap{schedule.Skip, schedule.BufferAll, schedule.AllowAll}[d.of("overlap").below(3)]
		err := c.SetSchedule(ctx, "hourly", schedule.Spec{Every: every, Overlap: overlap}, request.Start{Type: timed.Name(), Input: n})
		w.tolerate(err, "a schedule")
	case setsCanary:
		_, err := c.SetCanary(ctx, buildOf(d.of("build").below(2)), float64(d.of("share").below(101)), false, by)
		w.tolerate(err, "a canary")
	case cancelsRun, terminatesRun:
		w.mar(id)
		w.seen.record(w, id, asksForEnd{}, func() any {
			if ev.what == cancelsRun {
				return c.Cancel(ctx, id, "", by)
			}
			return c.Terminate(ctx, id, "", by)
		})
	}
}

// fork lets a person fork a run. The new one gets no signals, so it need not come to an end.
func (w *world) fork(ctx context.Context, id string, d dice) {
	w.rewind(id) // the new one may start what this one would start
	to := fmt.Sprintf("fork-%x", uint64(d))
	_, _, err := w.desk().ForkRun(ctx, request.Fork{WorkflowID: id, NewID: to, Call: int64(1 + d.of("call").below(4))})
	w.tolerate(err, "a fork of %s", id)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forks = append(w.forks, to)
}

// tolerate complains about an error that nobody may be told while processes come and go.
func (w *world) tolerate(err error, format string, args ...any) {
	w.trace.explain("%s: %v", fmt.Sprintf(format, args...), err)
	_, refused := errors.AsType[*request.RefusedError](err)
	if err != nil && !refused && !mayBeTold(err) {
		w.complain("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

// mayBeTold reports whether a client may get this error whatever it asks for.
func mayBeTold(err error) bool {
	for _, known := range []error{
		errCrashed, request.ErrNotPending, request.ErrNoAnswer, request.ErrStopped, store.ErrClosed, store.ErrNotFound, store.ErrStoreClosed,
		context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	_, copied := errors.AsType[*store.SealedError](err)
	return copied || store.Unavailable(err)
}

// taken are the operations that take back what people have paused.
func (w *world) taken() (all []core.Operation) {
	for op, paused := range map[core.Operation]happening{core.ResumeTheRun: pausesRun, core.ResumeCall: pausesCall} {
		if slices.ContainsFunc(w.events, func(ev event) bool { return ev.what == paused }) {
			all = append(all, op)
		}
	}
	slices.Sort(all)
	return all
}

// release takes back all that people keep from continuing, and ends what need not end by itself.
func (w *world) release() {
	ctx, by := context.Background(), request.By{Who: "ann"}
	try := func(what string, do func() error) {
		var err error
		for range 30 {
			err = do()
			if err == nil || errors.Is(err, store.ErrNotFound) {
				return
			}
			w.tolerate(err, "%s, at the end", what)
			time.Sleep(time.Second)
		}
		w.complain("%s fails even at the end: %v", what, err)
	}
	var on []view.SwitchRecord
	try("a look at the switches", func() (err error) { on, err = w.desk().Switches(ctx, true); return err })
	for _, s := range on {
		switch {
		case s.Paused && s.Kind == store.SwitchActivity:
			try("a switch", func() error { _, err := w.desk().SwitchActivity(ctx, s.Name, false, 0, "", by); return err })
		case s.Paused && s.Kind == store.SwitchCrash:
			of, _ := store.OfCrash(s.Name)
			try("what is held back", func() error { _, err := w.desk().SwitchActivity(ctx, of, false, 0, "", by); return err })
		case s.Paused && s.Kind == store.SwitchCanary:
			try("the end of the canary", func() error { _, err := w.desk().EndCanary(ctx, false, by); return err })
		}
	}
	try("the gate", func() error { return w.desk().PauseGate(ctx, narrow.Name(), false, by) })
	for _, op := range w.taken() {
		try(string(op), func() error {
			_, err := w.desk().ControlAll(ctx, view.Filter{}, core.Control{Operation: op}, false)
			return err
		})
	}
	try("the end of the schedule", func() error { return w.desk().DeleteSchedule(ctx, "hourly", by) })
	for id := range w.rewound { // it may wait for what its customer did not send, because it had ended
		for i := range w.wanted(id).signals {
			value, _ := history.Encode(i)
			try("a signal", func() error {
				if err := w.desk().Signal(ctx, id, number.Name(), fmt.Sprint("the ", i), value); !errors.Is(err, store.ErrClosed) {
					return err
				}
				return nil
			})
		}
	}
	for id := range w.rewound { // its own signal may have been dropped when it was terminated
		value, _ := history.Encode(0)
		try("an echo", func() error {
			if err := w.desk().Signal(ctx, id, echoed.Name(), "in its place", value); !errors.Is(err, store.ErrClosed) {
				return err
			}
			return nil
		})
	}
	for _, id := range w.forks {
		try("the end of a fork", func() error {
			if err := w.desk().Terminate(ctx, id, "", by); !errors.Is(err, store.ErrClosed) {
				return err
			}
			return nil
		})
	}
}
