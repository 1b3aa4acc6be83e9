package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// runStatuses are the values of --status.
var runStatuses = []string{
	view.StatusRunning, view.StatusPaused, view.StatusWaitingForCode, view.StatusParked, view.StatusCompleted,
	view.StatusFailed, view.StatusCanceled, view.StatusTerminated, view.StatusTimedOut, view.StatusContinued,
}

// listOptions are the flags of list.
type listOptions struct {
	status   []string
	workflow string
	prefix   string
	since    string
	until    string
	attrs    []string
	errors   string
	limit    int
	retrying bool
	calls    string
}

func (a *app) listCommand() *cobra.Command {
	var opt listOptions
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List workflows, newest first",
		Long: `List the workflows of a database, newest first.

With --retrying, list the steps that failed and wait for their next attempt: when that
is, and how they failed. With --calls, list the steps in another state, such as
--calls paused or --calls quarantined, which wait for a person.`,
		Example: `  perdure list
  perdure list --status running,parked --type fulfil-order
  perdure list --retrying
  perdure list --calls paused
  perdure list --attribute customer=ann --since 7d
  perdure list --prefix order- --limit 0 -o jsonl`,
		Args: a.noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.list(cmd.Context(), opt) },
	}
	flags := cmd.Flags()
	opt.addFlags(cmd, "only", "")
	flags.StringVar(&opt.errors, "error", "", "only with a step whose latest attempt ended with this `type` of error")
	flags.IntVar(&opt.limit, "limit", 100, "at most this `number`; 0 for all")
	flags.BoolVar(&opt.retrying, "retrying", false, "only those that wait for another attempt")
	flags.StringVar(&opt.calls, "calls", "", "only those with a call in this `state`: "+strings.Join(rowStates, ", "))
	cmd.MarkFlagsMutuallyExclusive("retrying", "calls")
	_ = cmd.RegisterFlagCompletionFunc("calls", cobra.FixedCompletions(rowStates, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// selecting are the flags by which workflows are selected.
var selecting = []string{"status", "type", "prefix", "attribute", "since", "until"}

// addFlags adds the flags by which workflows are selected.
func (opt *listOptions) addFlags(cmd *cobra.Command, only, status string) {
	flags := cmd.Flags()
	if status == "" {
		status = "; several with commas: " + strings.Join(runStatuses, ", ")
	}
	flags.StringSliceVar(&opt.status, "status", nil, only+" with this `status`"+status)
	flags.StringVar(&opt.workflow, "type", "", only+" of the workflow with this `name`")
	flags.StringVar(&opt.prefix, "prefix", "", only+" with workflow IDs that begin with this `text`")
	flags.StringArrayVar(&opt.attrs, "attribute", nil, only+" with this attribute, as `NAME=VALUE`; repeatable")
	flags.StringVar(&opt.since, "since", "", only+" started since this `time`: how long ago (90m, 24h, 7d), or a time such as 2026-11-21T15:04:05Z")
	flags.StringVar(&opt.until, "until", "", only+" started before this `time`")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(runStatuses, cobra.ShellCompDirectiveNoFileComp))
}

// attribute reads NAME=VALUE.
func attribute(text string) (name, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		err = usage("Write it as in customer=ann.", "%q is not an attribute.", text)
	}
	return name, value, err
}

func (opt *listOptions) filter(now time.Time) (f view.Filter, err error) {
	f = view.Filter{Attributes: map[string]string{}, Workflow: opt.workflow, IDPrefix: opt.prefix, ErrorType: opt.errors}
	if f.Since, err = moment("since", opt.since, now); err == nil {
		f.Until, err = moment("until", opt.until, now)
	}
	if err != nil {
		return f, err
	}
	for _, text := range opt.attrs {
		name, value, err := attribute(text)
		if err != nil {
			return f, err
		}
		if _, twice := f.Attributes[name]; twice {
			return f, usage("Give each attribute once.", "The attribute %q has two values.", name)
		}
		f.Attributes[name] = value
	}
	for _, s := range opt.status {
		if !slices.Contains(runStatuses, s) {
			return f, usage("It is one of: "+strings.Join(runStatuses, ", "), "There is no status %q.", s)
		}
		f.Status = append(f.Status, s)
	}
	if opt.limit < 0 {
		return f, usage("Use a number from 1, or 0 for all.", "The limit is %d.", opt.limit)
	}
	if opt.retrying {
		f.Call = view.CallBackoff
	}
	if opt.calls != "" {
		if !slices.Contains(rowStates, opt.calls) {
			return f, usage("It is one of: "+strings.Join(rowStates, ", "), "Calls cannot be listed by the state %q.", opt.calls)
		}
		f.Call = opt.calls
	}
	return f, nil
}

func (a *app) list(ctx context.Context, opt listOptions) error {
	filter, err := opt.filter(a.env.Now())
	if err != nil {
		return err
	}
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		runs, more, err := pages(ctx, e, filter, opt.limit)
		if err != nil {
			return err
		}
		if filter.Call != "" {
			err = a.listCalls(ctx, e, runs, filter.Call)
		} else {
			err = listing(a, runs, "No workflows match"+a.inGroup()+".", a.runTable)
		}
		if err == nil && more {
			a.cutOff("newest", len(runs))
		}
		return err
	})
}

// pages reads runs page by page, and says whether there are more than limit.
func pages(ctx context.Context, e *perdure.Engine, filter view.Filter, limit int) (all []view.Run, more bool, err error) {
	const page = 500
	for {
		filter.Limit = page
		if limit > 0 {
			filter.Limit = min(page, limit-len(all)+1)
		}
		runs, err := e.List(ctx, filter)
		if err != nil {
			return nil, false, err
		}
		all = append(all, runs...)
		if limit > 0 && len(all) > limit {
			return all[:limit], true, nil
		}
		if len(runs) < filter.Limit {
			return all, false, nil
		}
		filter.Before = runs[len(runs)-1].RunID
	}
}

func (a *app) runTable(runs []view.Run) error {
	now := a.env.Now()
	columns := []string{"ID", "WORKFLOW", "STATUS", "STARTED", "TOOK", "PRIORITY"} // the last if one has any
	saying := slices.ContainsFunc(runs, func(r view.Run) bool { return r.CustomStatus != "" })
	if saying {
		columns = append(columns, "SAYS")
	}
	table := a.table(columns...)
	for _, r := range runs {
		took := term.Duration(now.Sub(r.Created)) + " so far"
		if r.Closed != nil {
			took = term.Duration(r.Closed.Sub(r.Created))
		}
		priority := ""
		if r.Priority != 0 {
			priority = strconv.Itoa(r.Priority)
		}
		row := []any{r.WorkflowID, r.Workflow, status(r.Status), term.Time(r.Created), took, priority}
		if saying {
			row = append(row, a.clip(r.CustomStatus, 60))
		}
		table.Row(row...)
	}
	return table.Write(a.out)
}

// waitingRun is a run with those of its calls that are in the state asked for.
type waitingRun struct {
	view.Run
	Pending []view.Call `json:"pending"`
}

func (a *app) listCalls(ctx context.Context, e *perdure.Engine, runs []view.Run, state string) error {
	var all []waitingRun
	for _, r := range runs {
		d, err := e.Workflow(r.WorkflowID).Describe(ctx)
		if err != nil {
			return err
		}
		waiting := slices.DeleteFunc(d.Pending, func(p view.Call) bool { return p.State != state })
		if d.RunID == r.RunID && len(waiting) > 0 { // else it went on in the meantime
			all = append(all, waitingRun{d.Run, waiting})
		}
	}
	none, show := "No step waits for another attempt", a.retryingTable
	if state != view.CallBackoff {
		none, show = "No step is "+state, a.waitingTable
	}
	return listing(a, all, none+a.inGroup()+".", show)
}

// retryingTable shows calls that wait for their next attempt.
func (a *app) retryingTable(all []waitingRun) error {
	now := a.env.Now()
	table := a.table("ID", "STEP", "FAILED", "NEXT ATTEMPT", "WHEN", "LAST ERROR")
	for _, r := range all {
		for _, p := range r.Pending {
			next := "now"
			if p.Next != nil {
				next = term.Until(*p.Next, now)
			}
			table.Row(r.WorkflowID, p.Name, fmt.Sprintf("%dx", p.Failures), attemptOf(p), next, a.clip(lastError(p), 60))
		}
	}
	return table.Write(a.out)
}

// rowStates are the states by which the database can find calls.
var rowStates = []string{
	view.CallQueued, view.CallExternal, view.CallBackoff, view.CallGated, view.CallPaused, view.CallQuarantined,
}

// waitingTable shows calls that wait for anything but a time.
func (a *app) waitingTable(all []waitingRun) error {
	now := a.env.Now()
	table := a.table("ID", "CALL", "STEP", "STATE", "FAILED", "SINCE", "BY", "WHY", "LAST ERROR")
	table.Right(1)
	for _, r := range all {
		for _, p := range r.Pending {
			since, by, why := "", "", ""
			if w := p.Paused; w != nil {
				since, by, why = term.When(w.Since, now), w.By, w.Why
			} else if w := p.ActivityPaused; w != nil {
				by, why = w.By, "the activity is paused: "+w.Why
			}
			table.Row(r.WorkflowID, fmt.Sprint(p.Call), p.Name, status(p.State), fmt.Sprintf("%dx", p.Failures), since, by, why, a.clip(lastError(p), 60))
		}
	}
	return table.Write(a.out)
}
