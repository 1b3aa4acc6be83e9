package cli

import (
	"github.com/perdure/perdure/internal/operation"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/retry"
	"github.com/spf13/pflag"
)

// operationRow is a row of the table of operations on workflows and their calls. All of
// them share flags, who and why, the dry run, the choice of one or several workflows, and
// the output of results (operate.go).
type operationRow struct {
	operation.Kind
	use, short, long, example string

	givenBy    string // the flag for what users pass as an argument by mistake
	everywhere bool   // without an ID it applies to all workflows
	message    bool   // with --all or --ids the arguments are the message, not an ID

	flags   func(r *request, flags *pflag.FlagSet)   // the operation's own
	prepare func(a *app, r *request) (action, error) // nil: Plain
}

// operations is the table.
var operations = []operationRow{
	{
		Kind: operation.RetryNow, use: "retry-now [ID]", short: "Start the next attempt of calls now",
		long: `Start the next attempt of pending calls now: of those that are in backoff, paused or
quarantined. The wait that is cut short counts against no limit.

A quarantined call crashed its process again and again. While every live node has a build
on which it did, it is refused, unless it is forced. See the builds: perdure show ID`,
		example: `  perdure retry-now order-17 --reason "the gateway is back"
  perdure retry-now --all --activity charge --state backoff --dry-run
  perdure retry-now --ids order-17,order-18`,
		flags: func(r *request, flags *pflag.FlagSet) {
			flags.BoolVar(&r.force, "force", false, "also calls that crashed their process on every build that a live node has")
		},
	},
	{
		Kind: operation.Pause, use: "pause [ID]", short: "Pause calls, or an activity",
		long: `Pause pending calls: no further attempt starts until they are resumed. An attempt that
is running may end.

With --activity alone the activity is paused as a whole: no call of it starts an
attempt on any node of the group. See what is paused: perdure audit`,
		example: `  perdure pause order-17 --call 3 --reason "the customer is on the phone"
  perdure pause --activity charge --reason "the bank is down"
  perdure pause --all --activity charge --type checkout`,
	},
	{
		Kind: operation.Resume, use: "resume [ID]", short: "Resume paused calls, or an activity",
		long: `Resume paused calls. Each waits for the rest of its backoff. A call that was paused
because its attempts were used up gets one more.

With --activity alone the activity is resumed that was paused as a whole.`,
		example: `  perdure resume order-17
  perdure resume --activity charge
  perdure resume --all --state paused --activity charge`,
	},
	{
		Kind: operation.EditPolicy, use: "edit-policy [ID]", short: "Give calls another retry policy",
		long: `Change the retry policy of pending calls. What --policy names is changed, the rest stays:
[retry: 20] allows 20 retries after the backoff that the call has. With --replace, or with
the name of a preset, the policy is the whole one. It holds from the next decision on: a
backoff that has begun ends when it was to end.

Before it is done, also with --dry-run, the difference is shown for each call of the
workflow, and what it means for its attempts. The policy is text in brackets, JSON, the
name of a preset, or - to read it from standard input. See what one amounts to:
perdure policy explain`,
		example: `  perdure edit-policy order-17 --call 3 --policy '[retry: 20]' --reason "the outage is long"
  perdure edit-policy order-17 --call 3 --policy '[retry: 20, backoff: 1m]' --replace
  perdure edit-policy --all --activity charge --policy '[within: 12h]' --dry-run`,
		givenBy: "policy",
		flags: func(r *request, flags *pflag.FlagSet) {
			flags.StringVar(&r.text, "policy", "", "the `policy`, or what of it is to change")
			flags.BoolVar(&r.replace, "replace", false, "the policy is the whole one: what it does not name is as by default")
		},
		prepare: func(a *app, r *request) (action, error) {
			if r.text == "" {
				return action{}, usage("Give one with --policy.", "The policy is missing.")
			}
			return a.prepareEdit(r)
		},
	},
	{
		Kind: operation.Skip, use: "skip [ID]", short: "Complete calls with a result of your own",
		long: `Complete pending calls with a result, as if their activity had returned it. The result
is JSON, or - to read it from standard input; one that the workflow's code cannot read
is refused. An attempt that is running is abandoned.`,
		example: `  perdure skip order-17 --call 3 --result '{"receipt": "paid in cash"}' --reason "the customer is in the shop"`,
		givenBy: "result",
		flags: func(r *request, flags *pflag.FlagSet) {
			flags.StringVar(&r.text, "result", "null", "the result as `JSON`")
		},
		prepare: func(a *app, r *request) (action, error) {
			value, err := a.jsonValue("result", r.text)
			return carry(operation.OnCalls(ops.Skip(value))), err
		},
	},
	{
		Kind: operation.Fail, use: "fail [ID]", short: "Fail calls with an error of your own",
		long: `Fail pending calls with an error, which the workflow's code gets immediately. No attempt
follows, and one that is running is abandoned. With --as the error has a type, by which
code and policies recognize it.`,
		example: `  perdure fail order-17 --call 3 --error "the card was stolen" --as CardStolen --reason "the bank says so"`,
		givenBy: "error",
		flags: func(r *request, flags *pflag.FlagSet) {
			flags.StringVar(&r.text, "error", "", "`text` of the error")
			flags.StringVar(&r.kind, "as", retry.TypeError, "`type` of the error, for the rules of policies")
		},
		prepare: func(_ *app, r *request) (action, error) {
			if r.text == "" {
				return action{}, usage("Describe the error with --error.", "The error is missing.")
			}
			return carry(operation.OnCalls(ops.FailNow(operation.NewError(r.kind, r.text)))), nil
		},
	},
	{
		Kind: operation.PauseRun, use: "pause-run [ID]", short: "Pause workflows as a whole",
		long: `Pause workflows as a whole: their code does not go on and no attempt starts until they
are resumed. Attempts that are running may end; signals and timers are recorded, and the
code sees them when it goes on. To pause only calls: perdure pause`,
		example: `  perdure pause-run order-17 --reason "the customer is on the phone"
  perdure pause-run --all --type checkout --dry-run
  perdure list --status paused`,
	},
	{
		Kind: operation.ResumeRun, use: "resume-run [ID]", short: "Resume paused workflows",
		long: `Resume workflows that were paused as a whole, and the calls that were paused with them.
A run that is parked because its code ended its process is tried again.
To resume calls that were paused by themselves: perdure resume`,
		example: `  perdure resume-run order-17
  perdure resume-run --all --status paused --type checkout`,
	},
	{
		Kind: operation.Reset, use: "reset [ID]", short: "Send workflows back to a call",
		long: `Send a workflow back to a call: it goes on as if its code had just reached that call.
Calls before it keep their results and are not repeated; the call and all later ones run
again, under other idempotency keys: what they have done is done twice, unless the code
passes a key of its own, or --keep-keys lets them keep theirs. A dry run names those that
have completed. A workflow that has ended is continued by a new run. Signals that came
since then are delivered again. See the numbers of calls: perdure history ID`,
		example: `  perdure reset order-17 --call 4 --reason "the stock system is fixed" --dry-run
  perdure reset --all --call 4 --status failed --type checkout --dry-run`,
		flags: func(r *request, flags *pflag.FlagSet) { r.from.flag(flags) },
		prepare: func(_ *app, r *request) (action, error) {
			if r.from.keepKeys {
				return carry(operation.OnRuns(ops.ResetRunKeepingKeys(r.from.call))), r.from.check(r.cmd)
			}
			return carry(operation.OnRuns(ops.ResetRun(r.from.call))), r.from.check(r.cmd)
		},
	},
	{
		Kind: operation.MoveRuns, use: "move-runs [ID]", short: "Move pinned workflows to another build",
		long: `Let workflows that are pinned to a build (workflow.Pinned) stay on another one from now on.
Without an ID it is all of those on the build --from, or that flags select among them. What
runs of a workflow ends where it is; then it goes on at a node of the build --to. It is
parked there if its code does not fit, and moving it back undoes that. If there is no such
node, it waits for one. See which builds there are: perdure nodes

With --dry-run nothing moves: each workflow is shown with what would become of it. Whether
code fits histories, a program of that build says: see docs/deploying.md.`,
		example: `  perdure move-runs --from v1.4.0 --to v1.4.1 --dry-run
  perdure move-runs --from v1.4.0 --to v1.4.1 --type checkout --reason "v1.4.0 charges twice"
  perdure move-runs order-17 --to v1.4.1`,
		everywhere: true,
		flags: func(r *request, flags *pflag.FlagSet) {
			flags.StringVar(&r.text, "from", "", "the `build` on which the workflows are, as perdure nodes shows it")
			flags.StringVar(&r.kind, "to", "", "the `build` on which they stay from now on")
		},
		prepare: func(_ *app, r *request) (action, error) {
			switch {
			case r.kind == "":
				return action{}, usage("Name it with --to. See which there are: perdure nodes", "The build to which workflows move is missing.")
			case r.text == "" && r.many():
				return action{}, usage("Name it with --from. See which there are: perdure nodes", "The build from which workflows move is missing.")
			}
			return carry(operation.OnRuns(ops.MoveRun(r.text, r.kind))), nil
		},
	},
	{
		Kind: operation.Cancel, use: "cancel [ID]", short: "Ask workflows to end",
		long: `Ask a workflow to end. Its code is told and can clean up; the calls that it waits for
are canceled. Asking again does nothing. To end it without asking: perdure terminate

With --all or --ids many workflows are asked, and the command waits for each of them.`,
		example: `  perdure cancel order-17 --reason "the customer called"
  perdure cancel --all --type checkout --prefix test- --dry-run`,
		prepare: sending(ops.Cancel,
			"Workflow %s is asked to end. To see its progress: %s\n"),
	},
	{
		Kind: operation.Terminate, use: "terminate [ID]", short: "End workflows without asking them",
		long: `End a workflow immediately. Its code is not told and cleans nothing up. To ask it to
end: perdure cancel

With --all or --ids many workflows are ended, and the command waits for each of them.`,
		example: `  perdure terminate order-17 --reason "started by mistake"
  perdure terminate --all --status parked --type checkout --dry-run`,
		prepare: sending(ops.Terminate,
			"Workflow %s ends as soon as an engine serves it. See: %s\n"),
	},
	{
		Kind: operation.Signal, use: "signal ID NAME [JSON]", short: "Send a signal to workflows",
		long: `Send a signal with a value to a workflow. The value is JSON; without one it is null,
and with - it is read from standard input. When the command returns, the signal is in
the database: no crash loses it.

With --id the signal has an idempotency key: sending it again does nothing.

With --all or --ids the signal is sent to many workflows, the command waits for each of them, and
the arguments are NAME [JSON].`,
		example: `  perdure signal order-17 approved true
  perdure signal order-17 address '{"city": "Lyon"}' --id address-change-4
  perdure signal order-17 comment '"a text needs quotes inside quotes"'
  perdure signal --all --type checkout close --dry-run`,
		message: true,
		flags: func(r *request, flags *pflag.FlagSet) {
			flags.StringVar(&r.key, "id", "", "idempotency `key` of the signal")
		},
		prepare: prepareSignal,
	},
}
