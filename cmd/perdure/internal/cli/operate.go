package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// request is one use of an operation on workflows or their calls. All of them share flags, the
// dry run, the choice of one or several workflows, and the output of results.
type request struct {
	use
	cmd  *cobra.Command
	args []string
	wait time.Duration // how long to wait for an engine

	all      bool
	ids      []string    // of the target workflows, instead of all
	runs     listOptions // selection of --all
	calls    view.CallFilter
	selected string // file with the output of a dry run of --all
}

// many reports whether the request is for several workflows.
func (r *request) many() bool { return r.all || r.named() }

// named reports whether the request names several workflows.
func (r *request) named() bool { return len(r.ids) > 0 || r.cmd.Flags().Changed("ids") }

// message reports whether the operation has arguments of its own: with --all or --ids they are
// all that there are.
func (r *request) message() bool { return strings.Contains(r.cmd.Use, "NAME") }

func (r *request) dry() bool { return command.DryOf(r.params).DryRun }

// operationCommands returns the operations on any number of workflows.
func operationCommands(scr *screen, db *source) (commands []*cobra.Command) {
	for _, c := range command.Operations() {
		commands = append(commands, operationCommand(scr, db, c))
	}
	return commands
}

func operationCommand(scr *screen, db *source, c *command.Command) *cobra.Command {
	r := &request{use: use{Command: c, params: c.New(), names: true}}
	r.cmd = r.cobra(scr)
	for _, p := range c.Takes() {
		if p.Arg == "" && (p.Need != "" || p.Default != "") { // users give it as an argument by mistake
			r.cmd.Annotations = map[string]string{givenBy: p.Flag}
			break
		}
	}
	severalIDs := strings.HasSuffix(r.cmd.Use, " ID") && r.cmd.Annotations == nil
	if severalIDs {
		r.cmd.Use = strings.Replace(r.cmd.Use, " ID", " [ID...]", 1)
	} else if !r.message() {
		r.cmd.Use = strings.Replace(r.cmd.Use, " ID", " [ID]", 1)
	}
	r.cmd.Args = func(cmd *cobra.Command, args []string) error {
		if r.message() && r.many() {
			return nil // operate checks them
		}
		return arguments(cmd, args)
	}
	r.addFlags(scr)
	r.cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.args = args
		if severalIDs && len(args) > 1 && !r.many() {
			r.args, r.ids = nil, args
		}
		return operate(scr, db, cmd.Context(), r)
	}
	return r.cmd
}

// addFlags adds the flags that say which workflows and calls are meant.
func (r *request) addFlags(scr *screen) {
	flags := r.cmd.Flags()
	flags.BoolVar(&r.all, "all", false, "all workflows that the flags with \"with --all\" select, instead of one")
	flags.StringSliceVar(&r.ids, "ids", nil, "the workflows with these `IDs`, instead of one; several with commas, or - for one on each line of standard input")
	addParams(scr, r.cmd, &r.runs.Runs, "with --all: ")
	r.cmd.Flag("status").Usage = "with --all: only with this `status`; default " + strings.Join(wording.OpenStatuses, ", ")
	if r.OnCalls() {
		flags.Int64Var(&r.calls.Call, "call", 0, "only the call of this `number`")
		flags.StringVar(&r.calls.Name, "activity", "", "only calls of the activity or step with this `name`")
		flags.StringSliceVar(&r.calls.States, "state", nil, "only calls in this `state`; several with commas: "+strings.Join(wording.CallStates, ", "))
		flags.StringVar(&r.calls.ErrorType, errorType, "", "only calls whose last failure has this `type`")
		_ = r.cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(wording.CallStates, cobra.ShellCompDirectiveNoFileComp))
	} else {
		addParams(scr, r.cmd, &r.runs.ByCalls, "with --all: ")
	}
	flags.StringVar(&r.selected, "selected", "", "with --all: what a dry run has selected and nothing else; `file` with its JSON, or -")
	flags.DurationVar(&r.wait, "wait", 10*time.Second, "wait at most this `duration` for an engine to do it")
}

// selects returns the flags that select workflows.
func (r *request) selects() []string {
	if r.OnCalls() {
		return flagsOf(listing.Runs{})
	}
	return append(flagsOf(listing.ByCalls{}), flagsOf(listing.Runs{})...)
}

// check returns an error for contradictory flags and arguments.
func (r *request) check() error {
	hint, changed := "Usage: "+r.cmd.UseLine(), r.cmd.Flags().Changed
	filters := append([]string{"activity", "state", errorType}, r.selects()...)
	switch {
	case r.all && changed("ids"):
		return usage("Leave one of them out.", "There are both --ids and --all.")
	case len(r.args) == 0 && !r.many():
		return usage(hint, "The ID is missing, and so is --all.")
	case len(r.args) > 0 && changed("ids") && !r.message():
		return usage("Add it to --ids, or leave that out.", "There are both an ID and --ids.")
	case len(r.args) > 0 && r.all && !r.message():
		return usage(hint, "There are both an ID and --all.")
	case r.message() && r.many() && (len(r.args) == 0 || len(r.args) > 2):
		return usage("Usage: perdure signal --all NAME [JSON] [flags]", "For many workflows the arguments are the NAME of the signal and perhaps its value, and no ID.")
	case r.message() && r.many() && changed("id"):
		return usage("Use --request.", "For many workflows the request is the idempotency key of the signal.")
	case !r.all && anyChanged(r.cmd, r.selects()) != "":
		return usage("Add --all, or leave it out.", "--%s selects among all workflows.", anyChanged(r.cmd, r.selects()))
	case !r.all && changed("selected"):
		return usage("Add --all, or leave it out.", "--selected is for many workflows.")
	case changed("selected") && anyChanged(r.cmd, filters) != "":
		return usage("Leave the filter out: the selection has the filter of its dry run.", "There are both --selected and --%s.", anyChanged(r.cmd, filters))
	case r.many() && r.calls.Call != 0:
		return usage("Select calls of many workflows by --activity, --state or --error-type.", "--call is the number of a call in one workflow.")
	case r.OnCalls() && changed("call") && r.calls.Call < 1:
		return usage("See the numbers of calls: perdure show ID", "There is no call %d.", r.calls.Call)
	case r.Named && r.calls.Call == 0 && r.calls.Name == "" && !changed("selected"):
		return usage("Name it with --call or --activity.", "The call is missing.")
	}
	return checkWait(r.wait)
}

// anyChanged returns the first of the flags that was given, "" if none was.
func anyChanged(cmd *cobra.Command, flags []string) string {
	for _, flag := range flags {
		if cmd.Flags().Changed(flag) {
			return flag
		}
	}
	return ""
}

// outcomeFlags are the flags that ask for the outcome of an operation. Who sends a signal to one
// workflow, and why, is on record only with its outcome.
func (r *request) outcomeFlags() []string {
	flags := []string{"dry-run", "request", "wait"}
	if r.message() {
		flags = append(flags, "reason", "by")
	}
	return flags
}

// operate carries out an operation on one workflow, on all selected ones, or on an activity
// as a whole.
func operate(scr *screen, db *source, ctx context.Context, r *request) error {
	if whole := command.Find(command.Activity, r.Name); whole != nil && len(r.args) == 0 && !r.many() && r.calls.Name != "" {
		return operateOnActivity(scr, db, ctx, r, whole)
	}
	if r.Everywhere && len(r.args) == 0 && !r.many() {
		r.all = true
	}
	if err := r.check(); err != nil {
		return err
	}
	if r.many() {
		if err := r.arguments(scr, r.args); err != nil {
			return err
		}
		if err := r.OfMany(r.params); err != nil {
			return wrongParam(r.params, err)
		}
		return wrongParam(r.params, operateOnAll(scr, db, ctx, r))
	}
	if err := r.arguments(scr, r.args[1:]); err != nil {
		return err
	}
	return db.withTarget(ctx, &r.use, r.args[0], func(e *perdure.Engine) error { return operateOnOne(scr, db, ctx, r, e, r.args[0]) })
}

// operateOnActivity carries out the command on an activity as a whole.
func operateOnActivity(scr *screen, db *source, ctx context.Context, r *request, whole *command.Command) error {
	if flag := anyChanged(r.cmd, append([]string{"call", "state", errorType}, flagsOf(listing.Runs{})...)); flag != "" {
		return usage("To act on calls of workflows, name a workflow or add --all.", "--%s means nothing for an activity as a whole.", flag)
	}
	return carryOut(scr, db, ctx, &use{Command: whole, params: command.OfActivity(r.params), by: r.by, key: r.key}, r.calls.Name)
}

func operateOnOne(scr *screen, db *source, ctx context.Context, r *request, e *perdure.Engine, id string) error {
	if anyChanged(r.cmd, r.outcomeFlags()) == "" {
		if r.message() {
			if err := unaskedSignal(ctx, e, id, r.args[1]); err != nil {
				return err
			}
		}
		message, can, err := r.Send(r.ask(ctx, scr, e, id), r.params)
		if can {
			return sent(scr, db, message, err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	target := &command.Target{ID: id, Calls: r.calls}
	if _, err := preview(scr, limited, r, e, target); err != nil {
		return r.explain(ctx, db, id, err)
	}
	result, _, err := r.Operate(r.ask(limited, scr, e, id), target, r.params)
	if err != nil {
		return r.explain(ctx, db, id, err)
	}
	records := result.Records
	all, err := withObstacles(db, ctx, e, id, records)
	if err != nil {
		return err
	}
	if scr.format != formatTable {
		return documents(scr, all)
	}
	if r.dry() {
		result.Calls, result.Unchanged, result.Refused, result.Waiting = len(records), count(records, view.Unchanged), count(records, view.Refused), count(records, view.WouldWait)
		scr.printf("%s\n\n", r.would(&result))
	}
	controlTable(scr, records)
	tellObstacles(scr, all)
	return nil
}

// sent says that a message was sent.
func sent(scr *screen, db *source, s command.Sent, err error) error {
	if err != nil {
		return err
	}
	return scr.show(s, func() {
		scr.printf("%s To see its progress: %s\n", s.Says, db.sameDatabase("perdure show", s.WorkflowID))
	})
}

// preview shows what an operation comes to that must be shown before it is done, and returns what
// a dry run selects.
func preview(scr *screen, ctx context.Context, r *request, e *perdure.Engine, t *command.Target) (selected view.BulkResult, err error) {
	if !r.Shown || scr.format != formatTable {
		return selected, nil
	}
	reason := command.ReasonOf(r.params)
	defer func(dry bool) { reason.DryRun = dry }(reason.DryRun)
	reason.DryRun = true
	selected, effect, err := r.Operate(r.ask(ctx, scr, e, t.ID), t, r.params)
	if err == nil {
		showEffect(scr, &effect)
	}
	return selected, err
}

// explain explains why an operation was not carried out.
func (r *request) explain(ctx context.Context, db *source, id string, err error) error {
	refused, isRefused := errors.AsType[*view.RefusedError](err)
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, perdure.ErrNotPending):
		return failure(exitNotFound, "See which ones it has: "+db.sameDatabase("perdure show", id),
			"Workflow %q has no such pending call.", id)
	case isRefused && !r.OnCalls():
		return failure(exitError, "", "Workflow %q refuses: %s.", id, refused.Record.Note)
	case isRefused:
		return failure(exitError, "", "Call %d (%s) of workflow %q refuses: %s.", refused.Record.Call, refused.Record.Name, id, refused.Record.Note)
	case errors.Is(err, perdure.ErrNoAnswer):
		return failure(exitTimedOut, "See which engines there are: "+db.sameDatabase("perdure nodes"),
			"No engine did it within %s. The request is in the database, and is carried out when an engine serves the workflow.", human.Duration(r.wait))
	}
	return err
}

func operateOnAll(scr *screen, db *source, ctx context.Context, r *request) error {
	target, err := which(scr, r)
	if err != nil {
		return err
	}
	return db.withEngine(ctx, func(e *perdure.Engine) error {
		limited, cancel := context.WithTimeout(ctx, r.wait)
		defer cancel()
		selected, err := preview(scr, limited, r, e, target)
		if err != nil {
			return err
		}
		if selected.Selection != "" && !r.dry() { // what was shown, and nothing that came since
			target = &command.Target{Selection: selected.Selection}
		}
		result, _, err := r.Operate(r.ask(limited, scr, e, ""), target, r.params)
		if errors.Is(err, perdure.ErrNoAnswer) && ctx.Err() == nil {
			err = failure(exitTimedOut, "To do the rest, once, run the same again with --request "+human.ShellWord(result.Request),
				"Within %s it was not done everywhere. The requests are in the database, and are carried out when an engine serves them.", human.Duration(r.wait))
		} else if err != nil {
			return err
		}
		result.Unknown = append(result.Unknown, selected.Unknown...) // the selection has only those that exist
		if err == nil && len(result.Unknown) > 0 {
			err = failure(exitNotFound, "See which ones there are: "+db.sameDatabase("perdure list"), "There is %s.", command.NoWorkflow(result.Unknown))
		}
		if scr.format != formatTable {
			return errors.Join(scr.document(result), err)
		}
		if !r.dry() || len(result.Records) == 0 {
			none := map[bool]string{true: "No call was selected.", false: "No workflow was selected."}[r.OnCalls()]
			scr.printf("%s\n", cmp.Or(r.Summary(&result), none))
			return err
		}
		const most = 50 // maximum number that a person is shown
		scr.printf("%s\n\n", r.would(&result))
		controlTable(scr, result.Records[:min(len(result.Records), most)])
		return err
	})
}

// would returns the first line of a dry run.
func (r *request) would(s *view.BulkResult) string {
	text := r.Counted(s)
	if !r.OnCalls() || s.Unchanged+s.Refused+s.Waiting == 0 {
		return text + " would be " + r.Did + ":"
	}
	n := s.Calls - s.Unchanged - s.Refused
	text += " are selected: " + human.Count(n) + " would be " + r.Did
	if s.Waiting > 0 {
		text += fmt.Sprintf(" (%s start, %s wait)", human.Count(n-s.Waiting), human.Count(s.Waiting))
	}
	if s.Unchanged > 0 {
		text += ", " + human.Count(s.Unchanged) + " unchanged"
	}
	if s.Refused > 0 {
		text += ", " + human.Count(s.Refused) + " refused"
	}
	return text + ":"
}

// count returns how many records have an outcome.
func count(records []view.ControlRecord, outcome string) (n int) {
	for i := range records {
		if records[i].Outcome == outcome {
			n++
		}
	}
	return n
}

// user returns who runs the command, for the audit.
func whoAsks(scr *screen, by string) string {
	if by = cmp.Or(by, scr.env.Getenv("PERDURE_BY")); by != "" {
		return by
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}
