package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/entity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/member"
	"github.com/perdure/perdure/internal/message"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/store"
)

// CopyIdentity makes an engine that has not started the same node as another.
func CopyIdentity(to, from *Engine) { to.member.Impersonate(from.member) }

// LoseAll makes an engine lose its partitions, as if another node had taken them.
func LoseAll(e *Engine) {
	e.mu.Lock()
	all := e.locations.Served()
	e.mu.Unlock()
	e.locations.lose(all...)
}

// LoseHome makes an engine lose its partitions, except wards, in the same way.
func LoseHome(e *Engine) {
	e.mu.Lock()
	homes := slices.DeleteFunc(e.locations.Served(), func(p *location) bool { return p.Ward != 0 })
	e.mu.Unlock()
	e.locations.lose(homes...)
}

// ComesWithEvidence loads a run, so far, that comes from another node with evidence against it, for
// mail with a number. It reports whether the run is to be loaded again, on trial, and the numbers of
// the mail that waits for that.
func ComesWithEvidence(e *Engine, sequence int64) (again bool, waits []int64) {
	e.mu.Lock()
	r := &activeRun{resident: e.locations.Served()[0].newResident("a run"), engine: e}
	e.mu.Unlock()
	past := &core.Past{State: core.State{Detail: core.EncodeDetail(core.Detail{Suspect: &suspects.Run{Deaths: 1}})}}
	again = r.bringsSuspicion(past, []post.Mail{{Sequence: sequence}})
	return again, post.Sequences(r.mail)
}

// HandOver lets an engine give all of its partitions away, until the patience ends.
func HandOver(e *Engine, patience context.Context) {
	h := holder{e}
	quiet, rest := []member.Partition(nil), h.Served()
	h.Close(rest)
	for len(rest) > 0 && patience.Err() == nil {
		quiet, rest = h.DropQuiet(patience, rest)
		for _, p := range quiet {
			_ = e.db.Release(patience, p.Node, []int{p.Number}) // else it is taken again
		}
	}
	h.Reopen(rest)
}

// Holds says what an engine holds, of all that it should hold nothing of when no
// run is open; "" if it holds nothing.
func Holds(e *Engine) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	report := func(what string, n int) {
		if n != 0 {
			fmt.Fprintf(&b, "%s: %d; ", what, n)
		}
	}
	count := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	report("residents at work", e.residents.busy)
	report("residents", len(e.residents.all))
	report("attempts", e.attempts.Running())
	slots := e.dispatcher.slots.Usage()
	report("slots", slots.Regular)
	report("slots kept back", count(slots.KeptBack))
	report("probation lane", count(slots.Probation))
	report("calls in queues", slots.Waiting)
	report("recovery", e.dispatcher.recovery.Open())
	report("waiting requests", e.Client.Waiting())
	report("route", e.inbox.office.OpenRoutes())
	report("late bodies", e.attempts.Late())
	for _, p := range e.locations.Served() {
		report("active in a partition", p.active)
		report("partition leaving", count(p.Closed()))
		waiting, unread := p.box.Pending()
		report("message pending", waiting)
		report("ends that cannot be read", unread)
	}
	report("activities that runs wait for", len(e.dispatcher.unserved.All()))
	return b.String()
}

// TellGate says something to a gate.
func TellGate(e *Engine, m core.ToGate) error {
	if err := e.db.Post(e.life.ctx, message.ToGate(e.db.group, &m)); err != nil {
		return err
	}
	e.inbox.Kick()
	return nil
}

// Tell puts what a run would say with a turn into the inbox of another one.
func Tell(e *Engine, m core.Message) error {
	out, err := message.FromRun(e.db.group, &m)
	if err != nil {
		return err
	}
	out.ForOwner = true
	return e.db.Post(e.life.ctx, out)
}

// CrowdedAt reports whether an inbox leaves messages while so many turns are in progress, and
// whether it is to be read again when there are fewer.
func CrowdedAt(e *Engine, busy int) (crowded, full bool) {
	e.mu.Lock()
	was := e.residents.busy
	e.residents.busy = busy
	e.mu.Unlock()
	crowded = e.inbox.crowded()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.residents.busy = was
	return crowded, e.inbox.full
}

// AtWork is how many runs are worked on, each by a goroutine.
func AtWork(e *Engine) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.residents.busy
}

// InMemory is how many runs, gates and schedules are in memory.
func InMemory(e *Engine) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.residents.all)
}

// Standing returns the rows that are no runs of workflows.
func Standing(e *Engine) ([]store.Run, error) {
	return e.db.List(e.life.ctx, store.Filter{Partitions: e.db.group.All(), Status: []store.Status{store.Standing}, Limit: 100})
}

// BeginWhileLeaving puts a run in line and lets it begin between its row and its leaving
// memory, as the loop of the line may.
func BeginWhileLeaving(e *Engine, start *history.Start) error {
	row, err := record.NewRun(0, start)
	if err != nil {
		return err
	}
	e.mu.Lock()
	p := e.locations.At(row.Partition)
	r := &activeRun{resident: &resident{location: p, id: row.ID, create: row, entry: written, busy: true, seats: e.dispatcher.slots.SeatsOf(row.ID, p.Tenure())}, engine: e}
	r.stepper = r
	e.residents.all[r.id] = r.resident
	e.residents.busy++
	p.active++
	e.mu.Unlock()
	if err := r.getInLine(nil); err != errInLine {
		return fmt.Errorf("it is not in line: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, w := range e.dispatcher.slots.PassBy(1) {
		p.letBegin(w.Run, nil)
	}
	r.evict()
	r.rest()
	return nil
}

// BeginWhileWritten orders the row of a run to be written that waits in memory, and lets it begin
// before the goroutine that is to write it has looked.
func BeginWhileWritten(e *Engine, start *history.Start) error {
	row, err := record.NewRun(0, start)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.locations.At(row.Partition)
	r := &activeRun{resident: &resident{location: p, id: row.ID, create: row, seats: e.dispatcher.slots.SeatsOf(row.ID, p.Tenure())}, engine: e}
	r.stepper = r
	e.residents.all[r.id] = r.resident
	if e.hold(r, start) {
		return errors.New("it begins")
	}
	r.writeDown()
	for _, w := range e.dispatcher.slots.PassBy(1) {
		p.letBegin(w.Run, nil)
	}
	return nil
}

// Begun returns how many calls of runs that have begun wait for slots.
func Begun(e *Engine) int { return e.dispatcher.slots.Usage().Waiting - e.dispatcher.slots.InLine() }

// Owned are the partitions whose closed runs an engine counts and removes.
func Owned(e *Engine) []int { return e.locations.Partitions() }

// Wake wakes a run at the partition of its workflow ID, as a time does that it waited for
// there once.
func Wake(e *Engine, run string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.locations.Served() {
		if p.Ward == 0 {
			e.dispatcher.addWake(e.clock.Now(), p, run)
		}
	}
}

// OfShare reports whether a canary gives a run to its build.
func OfShare(build string, share int, workflowID string) bool {
	return placement.OfShare(&store.Switch{Name: build, Share: share}, workflowID)
}

// PartitionOf is the partition of a workflow ID.
func PartitionOf(e *Engine, workflowID string) int { return entity.Place(e.db.group, workflowID) }
