package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/spf13/cobra"
)

// callStates are what --state accepts.
var callStates = []string{"running", "queued", "external", "backoff", "gated", "paused", "quarantined"}

// defaultAnswer is how long an operation is waited for.
const defaultAnswer = 10 * time.Second

// controlOptions are the flags of operations on calls and on workflows.
type controlOptions struct {
	person
	calls perdure.Calls
	all   bool
	runs  listOptions // of --all
	dry   bool
	id    string
	wait  time.Duration
}

// control is one operation on its way.
type control struct {
	controlOptions
	name  string // of the command
	op    perdure.Operation
	runOp *perdure.RunOperation // instead of op, for the workflow as a whole
}

// one carries the operation out on one workflow.
func (c *control) one(ctx context.Context, e *perdure.Engine, id string, options []perdure.ControlOption) ([]perdure.ControlRecord, error) {
	if c.runOp == nil {
		return e.Control(ctx, id, c.calls, c.op, options...)
	}
	r, err := e.ControlRun(ctx, id, *c.runOp, options...)
	return []perdure.ControlRecord{r}, err
}

// many carries the operation out on all workflows that pass a filter.
func (c *control) many(ctx context.Context, e *perdure.Engine, filter perdure.Filter, options []perdure.ControlOption) (perdure.BulkResult, error) {
	if c.runOp == nil {
		return e.ControlAll(ctx, filter, c.calls, c.op, options...)
	}
	return e.ControlRuns(ctx, filter, *c.runOp, options...)
}

// addFlags adds what all operations on calls have in common.
func (o *controlOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Int64Var(&o.calls.Call, "call", 0, "only the call of this `number`")
	flags.StringVar(&o.calls.Name, "activity", "", "only calls of the activity or step with this `name`")
	flags.StringSliceVar(&o.calls.States, "state", nil, "only calls in this `state`; several with commas: "+strings.Join(callStates, ", "))
	flags.StringVar(&o.calls.ErrorType, "error-type", "", "only calls whose last failure has this `type`")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(callStates, cobra.ShellCompDirectiveNoFileComp))
	o.addRequestFlags(cmd)
}

// addRequestFlags adds what all operations have in common.
func (o *controlOptions) addRequestFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&o.all, "all", false, "in all workflows that the flags let pass which say \"with --all\", instead of one")
	o.runs.addFlags(cmd, "with --all: only", "; default running, paused, waiting-for-code, parked")
	flags.BoolVar(&o.dry, "dry-run", false, "only count and list what would be done")
	o.person.addFlags(cmd)
	flags.StringVar(&o.id, "request", "", "`name` of this request, by which a repeated one is known")
	flags.DurationVar(&o.wait, "wait", defaultAnswer, "wait so `long` for an engine to do it")
}

// check refuses what makes no sense. Named says that a call or an activity must be
// named if there is only one workflow.
func (c *control) check(cmd *cobra.Command, args []string, named bool) error {
	hint := "Usage: " + cmd.UseLine()
	switch {
	case len(args) == 0 && !c.all:
		return usage(hint, "The ID is missing, and so is --all.")
	case len(args) > 0 && c.all:
		return usage(hint, "There are both an ID and --all.")
	case !c.all && anyChanged(cmd, selecting) != "":
		return usage("Add --all, or leave it away.", "--%s selects among all workflows.", anyChanged(cmd, selecting))
	case c.all && c.calls.Call != 0:
		return usage("Select calls of many workflows by --activity, --state or --error-type.", "The number of a call means something in one workflow only.")
	case c.runOp == nil && cmd.Flags().Changed("call") && c.calls.Call < 1:
		return usage("See the numbers of calls: perdure show ID", "There is no call %d.", c.calls.Call)
	case cmd.Flags().Changed("request") && c.id == "":
		return usage("Leave --request away, or give the request a name.", "The --request is empty.")
	case named && c.calls.Call == 0 && c.calls.Name == "":
		return usage("Name it with --call or --activity.", "It must be said which call is meant.")
	}
	return checkWait(c.wait)
}

// anyChanged is the first of the flags that was given, "" if none was.
func anyChanged(cmd *cobra.Command, flags []string) string {
	for _, flag := range flags {
		if cmd.Flags().Changed(flag) {
			return flag
		}
	}
	return ""
}

// options are the settings of the request.
func (c *control) options(a *app) []perdure.ControlOption {
	options := []perdure.ControlOption{perdure.By(a.user(c.person)), perdure.Why(c.why)}
	if c.id != "" {
		options = append(options, perdure.RequestID(c.id))
	}
	if c.dry {
		options = append(options, perdure.DryRun())
	}
	return options
}

// run carries the operation out on one workflow or on all that are selected.
func (c *control) run(ctx context.Context, a *app, args []string) error {
	if c.all {
		return c.runAll(ctx, a)
	}
	id := args[0]
	return a.withRun(ctx, id, func(e *perdure.Engine) error {
		limited, cancel := context.WithTimeout(ctx, c.wait)
		defer cancel()
		records, err := c.one(limited, e, id, c.options(a))
		if err != nil {
			return c.explain(ctx, id, err)
		}
		if a.format != formatTable {
			return documents(a, records)
		}
		if c.dry {
			a.printf("This would be done to:\n\n")
		}
		return a.controlTable(records)
	})
}

// explain says what became of an operation that was not carried out.
func (c *control) explain(ctx context.Context, id string, err error) error {
	refused, isRefused := errors.AsType[*perdure.RefusedError](err)
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, perdure.ErrNotPending):
		return &Error{
			Code: exitNotFound, What: fmt.Sprintf("No call of workflow %q that is pending is meant by this.", id),
			Hint: "See which ones there are: perdure show " + term.Quote(id),
		}
	case isRefused && c.runOp != nil:
		return &Error{Code: exitError, What: fmt.Sprintf("Workflow %q refuses: %s.", id, refused.Record.Note)}
	case isRefused:
		return &Error{Code: exitError, What: fmt.Sprintf("Call %d (%s) of workflow %q refuses: %s.", refused.Record.Call, refused.Record.Name, id, refused.Record.Note)}
	case errors.Is(err, perdure.ErrNoAnswer):
		return &Error{
			Code: exitTimedOut, What: fmt.Sprintf("No engine has done it within %s. The request is in the database: it is done when one serves the workflow.", term.Duration(c.wait)),
			Hint: "See which engines there are: perdure nodes",
		}
	}
	return err
}

func (c *control) runAll(ctx context.Context, a *app) error {
	filter, err := c.runs.filter(a.env.Now())
	if err != nil {
		return err
	}
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		limited, cancel := context.WithTimeout(ctx, c.wait)
		defer cancel()
		r, err := c.many(limited, e, filter, c.options(a))
		if errors.Is(err, perdure.ErrNoAnswer) && ctx.Err() == nil {
			err = &Error{
				Code: exitTimedOut,
				What: fmt.Sprintf("After %s it is not done everywhere. What was asked for is in the database and is done when an engine serves it.", term.Duration(c.wait)),
				Hint: "The same again does the rest, once: --request " + term.Quote(r.Request),
			}
		}
		if a.format != formatTable {
			return errors.Join(a.document(r), err)
		}
		a.printf("%s\n", c.summary(&r))
		if c.dry && len(r.Records) > 0 {
			a.printf("\n")
			err = errors.Join(err, a.controlTable(r.Records[:min(len(r.Records), mostShown)]))
		}
		return err
	})
}

// mostShown is how many calls a dry run shows to a person.
const mostShown = 50

// summary says what an operation on many workflows came to.
func (c *control) summary(r *perdure.BulkResult) string {
	where := term.Plural(r.Runs, "workflow", "workflows")
	if c.runOp == nil {
		where = term.Plural(r.Calls, "call", "calls") + " in " + where
	}
	if r.DryRun {
		return fmt.Sprintf("This would be done to %s (%s).", where, c.name)
	}
	text := fmt.Sprintf("%s: %s selected; applied to %d", c.name, where, r.Applied)
	for _, part := range []struct {
		n    int
		what string
	}{
		{r.Unchanged, "were that way already"}, {r.Refused, "refused"}, {r.NotPending, "not pending any more"},
		{r.Ended, "ended meanwhile"}, {r.Unanswered, "not answered yet"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return text + "."
}

// controlTable shows what was done to calls and workflows.
func (a *app) controlTable(records []perdure.ControlRecord) error {
	table := a.table("TIME", "ID", "CALL", "NAME", "OPERATION", "OUTCOME", "BY", "WHY", "NOTE")
	table.Right(2)
	for _, r := range records {
		call := ""
		if r.Call > 0 {
			call = fmt.Sprint(r.Call)
		}
		by := r.By
		if by == "" {
			by = "(the engine)"
		}
		table.Row(term.Time(r.Time), r.WorkflowID, call, r.Name, r.Operation, r.Outcome, by, r.Why, a.clip(r.Note, 60))
	}
	return table.Write(a.out)
}

// switched pauses or resumes an activity in the whole group.
func (a *app) switched(ctx context.Context, c *control, off bool) error {
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		set, done := e.ResumeActivity, "resumed"
		if off {
			set, done = e.PauseActivity, "paused"
		}
		r, err := set(ctx, c.calls.Name, c.options(a)...)
		if err != nil {
			return err
		}
		if a.format != formatTable {
			return a.document(r)
		}
		a.printf("Activity %s is %s on all nodes%s.\n", r.Name, done, a.inGroup())
		return nil
	})
}

// switchTable shows what was paused and resumed in the whole group.
func (a *app) switchTable(records []perdure.SwitchRecord) error {
	table := a.table("TIME", "KIND", "NAME", "OPERATION", "BY", "WHY")
	for _, r := range records {
		operation := "resume"
		if r.Paused {
			operation = "pause"
		}
		table.Row(term.Time(r.Time), r.Kind, r.Name, operation, r.By, r.Why)
	}
	return table.Write(a.out)
}
