package hold

import (
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/core"
	"github.com/perdure/perdure/internal/coro"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/placement"
	"github.com/perdure/perdure/internal/post"
	"github.com/perdure/perdure/internal/registry"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/seal"
	"github.com/perdure/perdure/internal/suspects"
	"github.com/perdure/perdure/internal/suspicion"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Hold says why a run currently has no code.
type Hold struct {
	Status core.Status
	Detail core.Detail
}

// Reasons knows why runs are held at this node. It is safe for concurrent use.
type Reasons struct {
	Node, Build string
	Process     string // a name that no other process has
	Clock       *clock.Clock
	Registry    *registry.Registry
	Nodes       *placement.Nodes
	Suspicion   *suspicion.Room
}

// UntilRestart is the fingerprint of runs that are parked for a reason that a restart of the
// engine may remove, whatever their code.
func (r *Reasons) UntilRestart() string { return "process " + r.Process }

// Missing returns the hold of a run whose code this node lacks: its workflow is not registered, or
// pin names another build. It returns nil if the code is here.
func (r *Reasons) Missing(workflow, pin string) *Hold {
	var why string
	switch {
	case pin != "" && pin != r.Build:
		why = fmt.Sprintf("it stays on build %s, with which it began or to which it was moved, and the engine %s has build %s", pin, r.Node, r.Build)
	case r.Registry.Workflow(workflow) == nil:
		why = fmt.Sprintf("workflow %q is not registered with the engine %s", workflow, r.Node)
	default:
		return nil
	}
	return &Hold{core.StatusWaitingForCode, core.Detail{Reason: why, Since: r.Clock.Now()}}
}

// Still returns the hold of a parked run if the code to try is the code that parked it.
func (r *Reasons) Still(def *seal.WorkflowDeclaration, past *core.Past) *Hold {
	if past.State.Status != core.StatusParked {
		return nil
	}
	d, err := core.DecodeDetail(past.State.Detail)
	if err == nil && d.Shared && !r.heldAsWhole(past.Start.Type) {
		return nil
	}
	if err != nil || !r.tried(&d, def, core.PinIn(&past.Start, past.Turns)) {
		return nil
	}
	return &Hold{core.StatusParked, d}
}

// tried reports whether the code that parked a run is the code to try.
func (r *Reasons) tried(d *core.Detail, def *seal.WorkflowDeclaration, pin string) bool {
	return d.Fingerprint == r.Registry.Fingerprint(def, pin) || d.Fingerprint == r.UntilRestart()
}

// WorthTrying reports whether a held run might continue with the code of this node or of another.
func (r *Reasons) WorthTrying(row *store.Run) bool {
	d, err := core.DecodeDetail(row.Detail)
	def := r.Registry.Workflow(row.Type)
	elsewhere := func(pin string) bool { return r.Nodes.Fitting(row.Type, "", pin, d.Tried) != "" }
	if def == nil || d.Pin != "" && d.Pin != r.Build {
		return elsewhere(d.Pin)
	}
	return err != nil || row.Status != store.Parked || d.Shared && !r.heldAsWhole(row.Type) ||
		!r.tried(&d, def, d.Pin) || d.Pin == "" && elsewhere("")
}

// Add adds to a hold what is on record of its run: a run that was parked because its code crashed
// processes keeps that reason, and that code stays among the tried.
func (h *Hold) Add(status core.Status, recorded *core.Detail) {
	if status == core.StatusParked && recorded.Mismatch == nil && slices.Contains(recorded.Tried, recorded.Fingerprint) && recorded.Fingerprint != "" {
		h.Status, h.Detail = status, *recorded // a better reason than that the code of this node does not fit
		return
	}
	h.Detail.Tried, h.Detail.Suspect = recorded.Tried, recorded.Suspect
}

// Failed returns the hold of a run whose code failed in a way that does not fail the run.
func (r *Reasons) Failed(fingerprint string, err error) *Hold {
	d := core.Detail{Reason: err.Error(), Since: r.Clock.Now(), Fingerprint: fingerprint}
	var mismatch *core.Mismatch
	var panicked *coro.PanicError
	var stuck *replay.StuckError
	var damage *replay.DamageError
	var unread *post.UnreadEnd
	switch {
	case errors.As(err, &unread):
		d.Fingerprint = r.UntilRestart()
	case errors.As(err, &mismatch):
		d.Mismatch = mismatch
	case errors.As(err, &panicked):
		d.Reason = "the workflow's code panicked: " + fmt.Sprint(panicked.Value)
		d.Stack, d.Broken = string(panicked.Stack), view.BrokenPanicked
	case errors.As(err, &damage):
		d.Stack, d.Fingerprint = string(damage.Stack), r.UntilRestart()
	case errors.As(err, &stuck):
		d.Stack, d.Fingerprint, d.Broken = stuck.Stack, r.UntilRestart(), view.BrokenStuck
	}
	return &Hold{core.StatusParked, d}
}

// IsDamage reports whether err says that the record of a run is unusable.
func IsDamage(err error) bool {
	var unreadable *history.DamageError
	var useless *replay.DamageError
	return errors.As(err, &unreadable) || errors.As(err, &useless)
}

// Unloadable returns the hold of a run that cannot be loaded or committed, until this process
// restarts.
func (r *Reasons) Unloadable(cause error) *Hold {
	d := core.Detail{Reason: cause.Error(), Since: r.Clock.Now(), Fingerprint: r.UntilRestart(), Damaged: IsDamage(cause)}
	if useless, is := errors.AsType[*replay.DamageError](cause); is {
		d.Stack = string(useless.Stack)
	}
	return &Hold{core.StatusParked, d}
}

// Crashing returns the hold of a run whose code, or that of its whole workflow, has ended its
// process too often, nil for any other run. The workflow ID is asked for if there is a hold.
func (r *Reasons) Crashing(def *seal.WorkflowDeclaration, suspect suspects.Run, workflowID func() string) *Hold {
	all := r.Suspicion.Workflow(def.Name)
	if all.Held == nil && suspect.Deaths == 0 {
		return nil // the usual case: each run that begins asks
	}
	code := r.Registry.Fingerprint(def, "")
	if all.Held != nil {
		return &Hold{core.StatusParked, core.Detail{
			Reason:      all.Held.Why + "; they are tried again on another build, or after perdure resume-run " + workflowID(),
			Fingerprint: code, Deaths: all.Deaths(), Shared: true,
		}}
	}
	if !suspect.Poisoned(code) {
		return nil
	}
	return &Hold{core.StatusParked, core.Detail{
		Reason: fmt.Sprintf("the workflow's code ended its process %d times in a row, each time while the code of no other run of its partition ran: it recurses without end, uses up the memory or exits; "+
			"it is tried again when the code changes, or after perdure resume-run "+workflowID(), suspect.Deaths),
		Fingerprint: code, Deaths: suspect.Deaths, Broken: view.BrokenCrashed,
	}}
}

// heldAsWhole reports whether the workflow is held, not only one of its runs.
func (r *Reasons) heldAsWhole(workflow string) bool {
	return r.Suspicion.Workflow(workflow).Held != nil
}
