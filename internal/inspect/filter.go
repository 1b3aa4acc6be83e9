package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/ident"
	"github.com/perdure/perdure/internal/record"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// statuses are the statuses of runs. Rows of gates and schedules have another one.
var statuses = append(slices.Clone(openStatuses),
	view.StatusCompleted, view.StatusFailed, view.StatusCanceled, view.StatusTerminated, view.StatusTimedOut, view.StatusContinued)

// openStatuses are those of open runs.
var openStatuses = []string{view.StatusRunning, view.StatusWaitingForCode, view.StatusParked, view.StatusPaused}

// callStates are the call states by which runs can be found: calls in these states have a
// row.
var callStates = []string{
	view.CallQueued, view.CallOffered, view.CallGated, view.CallBackoff, view.CallExternal, view.CallPaused, view.CallQuarantined, view.CallInDoubt,
}

// RunFilter returns the store's filter for runs of these partitions. The error is a
// *history.InputError about an unknown status or call state, an invalid cursor or an
// invalid limit.
func RunFilter(f view.Filter, partitions []int) (store.Filter, error) {
	out := store.Filter{
		Partitions: partitions, IDPrefix: f.IDPrefix, Call: store.CallState(f.Call), ErrorType: f.ErrorType,
		Since: f.Since, Until: f.Until, Before: f.Before, Limit: f.Limit,
	}
	if f.Text != "" {
		return out, &history.InputError{What: fmt.Sprintf("text %q", f.Text), Problem: "is searched for in lists alone, and not together with the state of a call; leave one of them out"}
	}
	out.Type, out.Attributes = ofWorkflow(f.Workflow, f.Attributes, f.Key)
	if err := checkLimit(f.Limit); err != nil {
		return out, err
	}
	if err := checkBefore(f.Before); err != nil {
		return out, err
	}
	if f.Call != "" && !slices.Contains(callStates, f.Call) {
		return out, &history.InputError{What: fmt.Sprintf("call state %q", f.Call), Problem: "finds no runs; it is one of " + strings.Join(callStates, ", ")}
	}
	for _, s := range f.Status {
		if !slices.Contains(statuses, s) {
			return out, &history.InputError{What: fmt.Sprintf("status %q", s), Problem: "does not exist; it is one of " + strings.Join(statuses, ", ")}
		}
		out.Status = append(out.Status, store.Status(s))
	}
	return Bounded(out), nil
}

// idsAhead is how far a run ID may be ahead of its run's creation time: the IDs of a chain
// rise by at least a millisecond per run, however fast the runs follow each other.
const idsAhead = time.Hour

// Bounded adds to a filter by time the bounds of run IDs that follow from it. Stores read
// runs in the order of their IDs.
func Bounded(f store.Filter) store.Filter {
	if !f.Since.IsZero() {
		f.Above = max(f.Above, ident.RunFloor(f.Since))
	}
	if !f.Until.IsZero() {
		if ceiling := ident.RunFloor(f.Until.Add(idsAhead)); f.Before == "" || ceiling < f.Before {
			f.Before = ceiling
		}
	}
	return f
}

// checkBefore checks the start of a page of runs.
func checkBefore(run string) error {
	if run == "" || ident.IsRun(run) {
		return nil
	}
	return &history.InputError{What: fmt.Sprintf("start of the page, %q,", run), Problem: "is not a run ID; use that of the last run of the previous page"}
}

// ofWorkflow returns the definition and the attributes of the runs that are shown under a name and
// have a key, "" for any.
func ofWorkflow(name string, others map[string]string, key string) (definition string, attributes []store.Attribute) {
	if strings.HasSuffix(name, view.FlowEnding) {
		if others = maps.Clone(others); others == nil {
			others = map[string]string{}
		}
		others[view.FileAttribute] = name
		name = view.FlowWorkflow
	}
	return name, record.StoreAttributes(others, key)
}
