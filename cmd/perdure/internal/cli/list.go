package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// listOptions are the flags that select workflows.
type listOptions struct {
	listing.Runs
	listing.ByCalls
	listing.ByText
	limit int
}

func listCommand(scr *screen, db *source) *cobra.Command {
	opt := listOptions{limit: 100}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List workflows, newest first",
		Long: `List the workflows of a database, newest first.

Each open workflow is listed with what it waits for, and each failed one with its error.
Of one that went on as new by itself the last run is listed; --status continued lists the
others. --type nightly.flow selects the runs of a flow file by its name.

With --retrying, list the steps that failed and wait for their next attempt, at a gate or
its breaker too: when that is, and how they failed. With --calls, list the steps in another state, such as
--calls paused or --calls quarantined, which wait for a person.`,
		Example: `  perdure list
  perdure list --status running,parked --type fulfil-order
  perdure list --retrying
  perdure list --calls paused
  perdure list --attribute customer=ann --since 7d
  perdure list --text 4711 --status failed
  perdure list --prefix order- --limit 0 -o jsonl`,
		RunE: func(cmd *cobra.Command, _ []string) error { return list(scr, db, cmd.Context(), opt) },
	}
	addParams(scr, cmd, &opt.Runs, "")
	addParams(scr, cmd, &opt.ByCalls, "")
	addParams(scr, cmd, &opt.ByText, "")
	limited(cmd.Flags(), &opt.limit, "at most this `number`; 0 for all")
	return cmd
}

// filter returns the filter that the flags are.
func (opt *listOptions) filter() (view.Filter, error) {
	f, err := opt.Runs.Filter(&opt.ByCalls)
	f.Text = opt.Text
	return f, wrongParam(opt, err)
}

func list(scr *screen, db *source, ctx context.Context, opt listOptions) error {
	filter, err := opt.filter()
	if err != nil {
		return err
	}
	if len(filter.Status) == 0 && filter.Call == "" && scr.format == formatTable {
		filter.Status = wording.LastStatuses
	}
	return db.withEngine(ctx, func(e *perdure.Engine) error {
		runs, more, err := selectRuns(scr, ctx, e, filter, opt.limit)
		if err != nil {
			return err
		}
		if filter.Call != "" {
			err = listCalls(scr, db, ctx, e, runs, opt)
		} else {
			err = showAll(scr, runs, "No workflows match"+db.inGroup()+".", runTable)
		}
		if err == nil && more {
			scr.cutOff("newest", len(runs))
		}
		if err == nil && len(runs) == 0 && filter.Workflow != "" && !strings.HasSuffix(filter.Workflow, view.FlowEnding) {
			warning, _ := ops.Unregistered(ctx, e, "workflow", filter.Workflow) // nothing is listed, warning or not
			scr.warn(warning)
		}
		if err == nil && scr.format == formatTable && slices.ContainsFunc(runs, isOpen) {
			err = noteUnserved(scr, db, ctx, e)
		}
		return err
	})
}

// mostSearches is the maximum number of pages searched for a list with a limit: each search
// looks at about a thousand runs and what they wait for.
const mostSearches = 10

// selectRuns reads the runs to list, or those whose calls to list, and reports whether
// there are more.
func selectRuns(scr *screen, ctx context.Context, e *perdure.Engine, filter view.Filter, limit int) (all []view.Run, more bool, err error) {
	const page = 500
	filter.Waits = filter.Call == ""
	for searches := 1; ; {
		filter.Limit = page
		if limit > 0 {
			filter.Limit = min(page, limit-len(all)+1)
		}
		found := view.RunPage{}
		if filter.Call == "" && (filter.Text == "" || limit == 0) {
			found.Runs, err = e.List(ctx, filter)
		} else {
			found, err = ops.Search(ctx, e, filter)
		}
		if err != nil {
			return nil, false, err
		}
		all = append(all, found.Runs...)
		switch {
		case limit > 0 && len(all) > limit:
			return all[:limit], true, nil
		case found.Searched != "" && limit > 0 && searches == mostSearches:
			if scr.format == formatTable {
				scr.notef("Only the newest were looked at of the workflows %s. To look at all: --limit 0\n", map[bool]string{true: "that wait", false: "that may have the text"}[filter.Text == ""])
			}
			return all, false, nil
		case found.Searched != "":
			filter.Before = found.Searched
			searches++
		case len(found.Runs) < filter.Limit:
			return all, false, nil
		default:
			filter.Before = found.Runs[len(found.Runs)-1].RunID
		}
	}
}

func isOpen(r view.Run) bool { return r.Closed == nil }

// noteUnserved says so if no node serves the workflows.
func noteUnserved(scr *screen, db *source, ctx context.Context, e *perdure.Engine) error {
	nodes, err := ops.Nodes(ctx, e)
	group, _ := db.group()
	if err == nil && !slices.ContainsFunc(nodes, func(n view.Node) bool { return n.Group == group && works(n) }) {
		scr.printf("\n%s\n", db.unserved())
	}
	return err
}

func runTable(scr *screen, runs []view.Run) {
	now := scr.env.Now()
	table := scr.table("ID", "WORKFLOW", "STATUS", "STARTED", "TOOK", "PRIORITY", "WAITS FOR", "WHY", "SAYS")
	table.Spare("SAYS", "TOOK", "PRIORITY", "STARTED") // the newest come first
	for _, r := range runs {
		took := human.Duration(now.Sub(r.Created)) + " so far"
		if width := scr.stdout.Width(); width > 0 && width < 120 {
			took = ""
		}
		if r.Closed != nil {
			took = human.Duration(r.Closed.Sub(r.Created))
		}
		waits, why := runWaits(&r, now)
		table.Row(r.WorkflowID, r.Workflow, status(r.Status), scr.ago(r.Created), took, unlessZero(r.Priority), waits, why, r.CustomStatus)
	}
	table.Write(scr.out)
}

// runWaits says what a run waits for, and why, or how it ended.
func runWaits(r *view.Run, now time.Time) (waits, why string) {
	w := r.Wait
	if w == nil {
		return "", cmp.Or(wording.Typed(r.ErrorType, r.Error), r.Reason)
	}
	waits = waitPainted(w.For).Text
	if name := cmp.Or(w.Gate, w.Name); name != "" && w.Name != r.Workflow {
		waits += " " + name
	}
	if w.Until != nil {
		waits += ", " + human.Until(*w.Until, now)
	}
	if w.Others > 0 {
		waits += fmt.Sprintf(" (and %d more)", w.Others)
	}
	return waits, wording.Why(w)
}

// waitingRun is a run with those of its calls that are in the requested state.
type waitingRun struct {
	view.Run
	Pending []view.Call `json:"pending"`
}

func listCalls(scr *screen, db *source, ctx context.Context, e *perdure.Engine, runs []view.Run, opt listOptions) error {
	wanted := func(p *view.Call) bool { return p.State == opt.Call }
	switch {
	case opt.Retrying:
		wanted = (*view.Call).Retries
	case opt.Call == view.CallPaused:
		wanted = (*view.Call).Rests
	}
	var all []waitingRun
	for _, r := range runs {
		d, err := e.Workflow(r.WorkflowID).Describe(ctx)
		if err != nil {
			return err
		}
		waiting := slices.DeleteFunc(d.Pending, func(p view.Call) bool { return !wanted(&p) })
		if d.RunID == r.RunID && len(waiting) > 0 { // else it has continued meanwhile
			all = append(all, waitingRun{d.Run, waiting})
		}
	}
	none, show := "No step waits for another attempt", retryingTable
	if !opt.Retrying {
		none, show = "No step is "+opt.Call, waitingTable
	}
	return showAll(scr, all, none+db.inGroup()+".", show)
}

// retryingTable shows calls that wait for their next attempt.
func retryingTable(scr *screen, all []waitingRun) {
	now := scr.env.Now()
	table := scr.table("ID", "STEP", "FAILED", "NEXT ATTEMPT", "WHEN", "LAST ERROR")
	table.Spare("FAILED") // the next attempt says it, too
	for _, r := range all {
		for _, p := range r.Pending {
			next := "now"
			switch {
			case p.ActivityPaused != nil:
				next = "when the activity is resumed"
			case p.Gate != nil:
				next = gatePassed(p.Gate, now)
			case p.State == view.CallQueued:
				next = "when a slot is free"
			case p.State == view.CallOffered:
				next = "when queue " + p.Queue + " is served"
			case p.Next != nil:
				next = human.Until(*p.Next, now)
			}
			table.Row(r.WorkflowID, p.Name, fmt.Sprintf("%dx", p.Failures), wording.Attempt(&p), next, lastError(p))
		}
	}
	table.Write(scr.out)
}

// gatePassed says when a call may pass a gate.
func gatePassed(w *view.GateWait, now time.Time) string {
	switch {
	case w.Paused != nil:
		return "when gate " + w.Name + " is resumed"
	case w.OpenUntil != nil:
		return human.Until(*w.OpenUntil, now) + ", breaker of " + w.Name + wording.OfKey(w.Key) // a narrow terminal cuts the end
	}
	return "at gate " + w.Name
}

// waitingTable shows calls that wait for anything other than a time.
func waitingTable(scr *screen, all []waitingRun) {
	now := scr.env.Now()
	table := scr.table("ID", "\tCALL", "STEP", "STATE", "FAILED", "SINCE", "BY", "WHY", "LAST ERROR")
	for _, r := range all {
		for _, p := range r.Pending {
			since, by, why := "", "", ""
			if w := p.Paused; w != nil {
				since, by, why = human.Ago(w.Since, now), w.By, w.Why
			} else if w := p.ActivityPaused; w != nil {
				since, by, why = human.Ago(w.Since, now), w.By, "the activity is paused: "+w.Why
			} else if p.Gate != nil {
				why = gatePassed(p.Gate, now)
			}
			table.Row(r.WorkflowID, fmt.Sprint(p.Call), p.Name, status(p.State), fmt.Sprintf("%dx", p.Failures), since, by, why, lastError(p))
		}
	}
	table.Write(scr.out)
}
