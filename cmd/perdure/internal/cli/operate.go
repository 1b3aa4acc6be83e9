package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/operation"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
	"github.com/spf13/cobra"
)

// request is one use of an operation: its flags and arguments.
type request struct {
	*operationRow
	cmd  *cobra.Command
	args []string

	person
	dry  bool
	id   string        // idempotency key
	wait time.Duration // how long to wait for an engine

	all      bool
	ids      []string    // of the target workflows, instead of all
	runs     listOptions // selection of --all
	calls    view.CallFilter
	selected string // file with the output of a dry run of --all

	text, kind, key string // for operations with such a flag
	from            fromCall
	replace, force  bool
}

// many reports whether the request is for several workflows.
func (r *request) many() bool { return r.all || r.cmd.Flags().Changed("ids") }

// action is an operation on one workflow or on all that a filter selects.
type action struct {
	operation.Operation

	// send sends it to one workflow without waiting for the outcome, and confirms that. It
	// is nil if the command always waits for the outcome.
	send func(ctx context.Context, e *perdure.Engine, id string) error

	// before shows the effect on one workflow; nil if there is nothing to show.
	before func(ctx context.Context, e *perdure.Engine, id string) error
	// beforeAll shows the effect on the calls that a dry run selected.
	beforeAll func(ctx context.Context, e *perdure.Engine, selected view.BulkResult) error
}

// carry returns an action for an operation.
func carry(op operation.Operation) action { return action{Operation: op} }

// sending returns an action that is only sent, unless a flag asks for its outcome.
func sending(send func(ctx context.Context, e *perdure.Engine, id string, options ...ops.Option) error, sentence string) func(*app, *request) (action, error) {
	return func(a *app, r *request) (action, error) {
		act := carry(r.Plain)
		if anyChanged(r.cmd, outcomeFlags) != "" {
			return act, nil
		}
		act.send = func(ctx context.Context, e *perdure.Engine, id string) error {
			if err := send(ctx, e, id, ops.By(a.user(r.person)), ops.Why(r.why)); err != nil {
				return err
			}
			return a.confirm(sent{WorkflowID: id, Sent: r.cmd.Name(), Reason: r.why}, sentence, id, a.sameDatabase("perdure show "+term.Quote(id)))
		}
		return act, nil
	}
}

// outcomeFlags are the flags that ask for the outcome of an operation.
var outcomeFlags = []string{"dry-run", "request", "wait"}

// prepareSignal prepares a signal, which is only sent if it is for one workflow.
func prepareSignal(a *app, r *request) (action, error) {
	words := r.args
	switch {
	case !r.many():
		if flag := anyChanged(r.cmd, slices.Concat(outcomeFlags, []string{"reason", "by"})); flag != "" {
			return action{}, usage("Add --all, or leave it out.", "--%s is for many workflows only.", flag)
		}
		words = words[1:]
	case len(words) == 0 || len(words) > 2:
		return action{}, usage("Usage: perdure signal --all NAME [JSON] [flags]", "For many workflows the arguments are the NAME of the signal and perhaps its value, and no ID.")
	case r.cmd.Flags().Changed("id"):
		return action{}, usage("Use --request.", "For many workflows the request is the idempotency key of the signal.")
	}
	if r.cmd.Flags().Changed("id") && r.key == "" {
		return action{}, usage("Leave --id out, or give the signal a key.", "The --id is empty.")
	}
	name, value := words[0], json.RawMessage("null")
	if len(words) == 2 {
		var err error
		if value, err = a.jsonValue("value of the signal", words[1]); err != nil {
			return action{}, err
		}
	}
	act := carry(operation.OnRuns(ops.SignalRun(name, value)))
	act.send = func(ctx context.Context, e *perdure.Engine, id string) error {
		if err := unaskedSignal(ctx, e, id, name); err != nil {
			return err
		}
		if err := workflow.NewSignal[json.RawMessage](name).SendOnce(ctx, e.Workflow(id), r.key, value); err != nil {
			return err
		}
		return a.confirm(sent{WorkflowID: id, Sent: "signal", Signal: name, ID: r.key},
			"Signal %s is in the database; workflow %s receives it when its code asks for it.\n", name, id)
	}
	return act, nil
}

// operationCommands returns a command for each row of the table.
func (a *app) operationCommands() (commands []*cobra.Command) {
	for i := range operations {
		commands = append(commands, a.operationCommand(&operations[i]))
	}
	return commands
}

func (a *app) operationCommand(op *operationRow) *cobra.Command {
	r := &request{operationRow: op}
	cmd := &cobra.Command{Use: op.use, Short: op.short, Long: op.long, Example: op.example, ValidArgsFunction: a.completeID}
	r.cmd = cmd
	if op.givenBy != "" {
		cmd.Annotations = map[string]string{givenBy: op.givenBy}
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if op.message && r.many() {
			return nil // prepare checks them
		}
		return arguments(cmd, args)
	}
	r.addFlags()
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		r.args = args
		return a.operate(cmd.Context(), r)
	}
	return cmd
}

// addFlags adds the flags that all operations share, and the operation's own.
func (r *request) addFlags() {
	flags := r.cmd.Flags()
	flags.BoolVar(&r.all, "all", false, "all workflows that the flags with \"with --all\" select, instead of one")
	flags.StringSliceVar(&r.ids, "ids", nil, "the workflows with these `IDs`, instead of one; several with commas, or - for one on each line of standard input")
	r.runs.addFlags(r.cmd, "with --all: only", "; default running, paused, waiting-for-code, parked")
	if r.OnCalls {
		flags.Int64Var(&r.calls.Call, "call", 0, "only the call of this `number`")
		flags.StringVar(&r.calls.Name, "activity", "", "only calls of the activity or step with this `name`")
		flags.StringSliceVar(&r.calls.States, "state", nil, "only calls in this `state`; several with commas: "+strings.Join(callStates, ", "))
		flags.StringVar(&r.calls.ErrorType, errorType, "", "only calls whose last failure has this `type`")
		_ = r.cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(callStates, cobra.ShellCompDirectiveNoFileComp))
	} else {
		flags.BoolVar(&r.runs.retrying, "retrying", false, "with --all: only those that wait for another attempt")
		flags.StringVar(&r.runs.errors, errorType, "", "with --all: only with a step whose latest attempt ended with this `type` of error")
	}
	flags.BoolVar(&r.dry, "dry-run", false, "only count and list what would be done")
	flags.StringVar(&r.selected, "selected", "", "with --all: what a dry run has selected and nothing else; `file` with its JSON, or -")
	r.person.addFlags(r.cmd)
	flags.StringVar(&r.id, "request", "", "idempotency `key` of this request: repeating it does nothing")
	flags.DurationVar(&r.wait, "wait", 10*time.Second, "wait at most this `duration` for an engine to do it")
	if r.operationRow.flags != nil {
		r.operationRow.flags(r, flags)
	}
}

// callStates are the values of --state.
var callStates = []string{"running", "queued", "offered", "external", "backoff", "gated", "paused", "quarantined"}

// selects returns the flags that select workflows.
func (r *request) selects() []string {
	if r.OnCalls {
		return selecting
	}
	return append([]string{"retrying", errorType}, selecting...)
}

// check returns an error for contradictory flags and arguments.
func (r *request) check() error {
	hint, changed := "Usage: "+r.cmd.UseLine(), r.cmd.Flags().Changed
	switch {
	case r.all && changed("ids"):
		return usage("Leave one of them out.", "There are both --ids and --all.")
	case len(r.args) == 0 && !r.many():
		return usage(hint, "The ID is missing, and so is --all.")
	case len(r.args) > 0 && changed("ids") && !r.message:
		return usage("Add it to --ids, or leave that out.", "There are both an ID and --ids.")
	case len(r.args) > 0 && r.all && !r.message:
		return usage(hint, "There are both an ID and --all.")
	case !r.all && anyChanged(r.cmd, r.selects()) != "":
		return usage("Add --all, or leave it out.", "--%s selects among all workflows.", anyChanged(r.cmd, r.selects()))
	case !r.all && changed("selected"):
		return usage("Add --all, or leave it out.", "--selected is for many workflows.")
	case changed("selected") && anyChanged(r.cmd, append([]string{"activity", "state", errorType}, r.selects()...)) != "":
		return usage("Leave the filter out: the selection has the filter of its dry run.", "There are both --selected and --%s.", anyChanged(r.cmd, append([]string{"activity", "state", errorType}, r.selects()...)))
	case r.many() && r.calls.Call != 0:
		return usage("Select calls of many workflows by --activity, --state or --error-type.", "--call is the number of a call in one workflow.")
	case r.OnCalls && changed("call") && r.calls.Call < 1:
		return usage("See the numbers of calls: perdure show ID", "There is no call %d.", r.calls.Call)
	case changed("request") && r.id == "":
		return usage("Leave --request out, or give the request a key.", "The --request is empty.")
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

// options returns the settings of the request.
func (r *request) options(a *app) []ops.ControlOption {
	options := []ops.ControlOption{ops.By(a.user(r.person)), ops.Why(r.why)}
	if r.id != "" {
		options = append(options, ops.RequestID(r.id))
	}
	if r.dry {
		options = append(options, ops.DryRun())
	}
	if r.force {
		options = append(options, ops.Force())
	}
	return options
}

// operate carries out an operation on one workflow, on all selected ones, or on an activity
// as a whole.
func (a *app) operate(ctx context.Context, r *request) error {
	if name := r.cmd.Name(); (name == "pause" || name == "resume") && len(r.args) == 0 && !r.many() && r.calls.Name != "" {
		return a.switchActivity(ctx, r, name == "pause")
	}
	if r.everywhere && len(r.args) == 0 && !r.many() {
		r.all = true
	}
	if err := r.check(); err != nil {
		return err
	}
	act := carry(r.Plain)
	if r.prepare != nil {
		var err error
		if act, err = r.prepare(a, r); err != nil {
			return err
		}
	}
	if r.many() {
		return a.operateOnAll(ctx, r, act)
	}
	id := r.args[0]
	return a.withRun(ctx, id, func(e *perdure.Engine) error {
		if act.send != nil {
			return act.send(ctx, e, id)
		}
		if act.before != nil && a.format == formatTable {
			if err := act.before(ctx, e, id); err != nil {
				return err
			}
		}
		limited, cancel := context.WithTimeout(ctx, r.wait)
		defer cancel()
		records, err := act.One(limited, e, id, r.calls, r.options(a)...)
		if err != nil {
			return r.explain(ctx, a, id, err)
		}
		way, err := a.inTheWay(ctx, e, id, records)
		if err != nil {
			return err
		}
		if a.format != formatTable {
			return documents(a, withObstacles(records, way))
		}
		if r.dry {
			a.printf("%s\n\n", r.would(len(records), 1, count(records, view.Unchanged), count(records, view.Refused), count(records, view.WouldWait)))
		}
		if err := a.controlTable(records); err != nil {
			return err
		}
		a.tellObstacles(way)
		return nil
	})
}

// explain explains why an operation was not carried out.
func (r *request) explain(ctx context.Context, a *app, id string, err error) error {
	refused, isRefused := errors.AsType[*view.RefusedError](err)
	switch {
	case ctx.Err() != nil:
		return err
	case errors.Is(err, perdure.ErrNotPending):
		return &Error{
			Code: exitNotFound, What: fmt.Sprintf("Workflow %q has no such pending call.", id),
			Hint: "See which ones it has: " + a.sameDatabase("perdure show "+term.Quote(id)),
		}
	case isRefused && !r.OnCalls:
		return &Error{Code: exitError, What: fmt.Sprintf("Workflow %q refuses: %s.", id, refused.Record.Note)}
	case isRefused:
		return &Error{Code: exitError, What: fmt.Sprintf("Call %d (%s) of workflow %q refuses: %s.", refused.Record.Call, refused.Record.Name, id, refused.Record.Note)}
	case errors.Is(err, perdure.ErrNoAnswer):
		return &Error{
			Code: exitTimedOut, What: fmt.Sprintf("No engine did it within %s. The request is in the database, and is carried out when an engine serves the workflow.", human.Duration(r.wait)),
			Hint: "See which engines there are: " + a.sameDatabase("perdure nodes"),
		}
	}
	return err
}

func (a *app) operateOnAll(ctx context.Context, r *request, act action) error {
	options := r.options(a)
	filter, which, err := a.which(r)
	if err != nil {
		return err
	}
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		limited, cancel := context.WithTimeout(ctx, r.wait)
		defer cancel()
		if act.beforeAll != nil && a.format == formatTable {
			selected, err := act.All(limited, e, filter, r.calls, slices.Concat(options, which, []ops.ControlOption{ops.DryRun()})...)
			if err != nil {
				return err
			}
			if err := act.beforeAll(ctx, e, selected); err != nil {
				return err
			}
			if selected.Selection != "" && !r.dry { // what was shown, and nothing that came since
				filter, r.calls, which = view.Filter{}, view.CallFilter{}, []ops.ControlOption{ops.Selected(selected.Selection)}
			}
		}
		result, err := act.All(limited, e, filter, r.calls, slices.Concat(options, which)...)
		if errors.Is(err, perdure.ErrNoAnswer) && ctx.Err() == nil {
			err = &Error{
				Code: exitTimedOut,
				What: fmt.Sprintf("Within %s it was not done everywhere. The requests are in the database, and are carried out when an engine serves them.", human.Duration(r.wait)),
				Hint: "To do the rest, once, run the same again with --request " + term.Quote(result.Request),
			}
		}
		if a.format != formatTable {
			return errors.Join(a.document(result), err)
		}
		if !r.dry || len(result.Records) == 0 {
			a.printf("%s\n", r.summary(&result))
			return err
		}
		const most = 50 // maximum number that a person is shown
		a.printf("%s\n\n", r.would(result.Calls, result.Runs, result.Unchanged, result.Refused, result.Waiting))
		return errors.Join(err, a.controlTable(result.Records[:min(len(result.Records), most)]))
	})
}

// would returns the first line of a dry run.
func (r *request) would(calls, runs, unchanged, refused, waiting int) string {
	text := human.Plural(runs, "workflow", "workflows")
	if r.OnCalls {
		text = human.Plural(calls, "call", "calls") + " in " + text
	}
	if r.OnCalls && unchanged+refused+waiting > 0 {
		text += " are selected: " + human.Count(calls-unchanged-refused) + " would be " + r.Did
		if waiting > 0 {
			text += fmt.Sprintf(" (%s start, %s wait)", human.Count(calls-unchanged-refused-waiting), human.Count(waiting))
		}
		if unchanged > 0 {
			text += ", " + human.Count(unchanged) + " unchanged"
		}
		if refused > 0 {
			text += ", " + human.Count(refused) + " refused"
		}
		return text + ":"
	}
	return text + " would be " + r.Did + ":"
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

// summary describes the outcome of an operation on several workflows, such as "7 retried,
// 12 unchanged (waiting at gate payments)".
func (r *request) summary(result *view.BulkResult) string {
	var parts []string
	for _, part := range []struct {
		n             int
		what, outcome string
	}{
		{result.Applied, r.Did, ""}, {result.Unchanged, "unchanged", "unchanged"}, {result.Refused, "refused", "refused"},
		{result.NotPending, "no longer pending", ""}, {result.Ended, "ended before", ""}, {result.Gone, "no longer as the dry run found them", ""}, {result.Unanswered, "not carried out yet", ""},
	} {
		if part.n > 0 {
			parts = append(parts, human.Count(part.n)+" "+part.what+notes(result.Records, part.outcome))
		}
	}
	if len(parts) == 0 {
		return "No " + r.object() + " was selected."
	}
	return strings.Join(parts, ", ") + "."
}

// object names what the operation applies to.
func (r *request) object() string {
	if r.OnCalls {
		return "call"
	}
	return "workflow"
}

// notes returns the reasons in records with an outcome, in parentheses.
func notes(records []view.ControlRecord, outcome string) string {
	var all []string
	for _, record := range records {
		if record.Outcome == outcome && record.Note != "" && !slices.Contains(all, record.Note) {
			all = append(all, record.Note)
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case len(all) > 3:
		all = append(all[:3], "...")
	}
	return " (" + strings.Join(all, "; ") + ")"
}

// person is who does something, and why.
type person struct{ by, why string }

func (p *person) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.by, "by", "", "`who` does it (default $PERDURE_BY, else the user of the operating system)")
	cmd.Flags().StringVar(&p.why, "reason", "", "`why`, for the record")
}

// user returns who runs the command, for the audit.
func (a *app) user(p person) string {
	if p.by != "" {
		return p.by
	}
	if by := a.env.Getenv("PERDURE_BY"); by != "" {
		return by
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}
