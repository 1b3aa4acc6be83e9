package command

import (
	"encoding/json"

	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/workflow"
)

// operations are the commands on any number of runs and their calls. They share the choice of
// what they are done to, the dry run and the output of results.
var operations = []Command{
	bulk(Command{
		On: Calls, Name: "retry-now", Label: "Retry now", Did: "retried", Short: "Start the next attempt of calls now",
		Means: "The next attempt of calls that are in backoff, paused or quarantined starts now, even if all attempts are used up. If it fails, the policy decides as always. The wait that is cut short counts against no limit. A call in doubt repeats an attempt that may have been done; one that is being asked about is asked about now.",
		More: `A quarantined call crashed its process again and again. While every live node has a build
on which it did, it is refused, unless it is forced. See the builds: perdure show ID`,
		Example: `  perdure retry-now order-17 --reason "the gateway is back"
  perdure retry-now --all --activity charge --state backoff --dry-run
  perdure retry-now --ids order-17,order-18`,
	}, func(p *retryNow) (Operation, error) {
		op := ops.RetryNow()
		return Operation{calls: &op, force: p.Force}, nil
	}),
	bulk(Command{
		On: Calls, Name: "ask", Did: "asked about", Short: "Ask again whether an attempt had its effect",
		Means: "The program is asked again, by the activity's Verify function, whether the attempt that is in doubt had its effect: as if it had not been asked before, and without waiting. A call that is not in doubt, or has no such function, refuses.",
		Example: `  perdure ask order-17 --call 3 --reason "the bank answers again"
  perdure ask --all --activity charge --state in-doubt --dry-run`,
	}, onCalls(ops.Ask())),
	bulk(Command{
		On: Calls, Name: "skip", Did: "skipped", Named: true, Short: "Complete calls with a result of your own",
		Means:   "The calls complete with a result, as if their activity had returned it. An attempt that runs is abandoned. A result that the workflow's code cannot read is refused.",
		Example: `  perdure skip order-17 --call 3 --result '{"receipt": "paid in cash"}' --reason "the customer is in the shop"`,
	}, func(p *skip) (Operation, error) {
		op := ops.Skip(OrNull(p.Result))
		return Operation{calls: &op}, nil
	}),
	bulk(Command{
		On: Calls, Name: "fail", Did: "failed", Named: true, Danger: true, Short: "Fail calls with an error of your own",
		Means:   "The workflow's code gets the error now. No attempt follows, and one that runs is abandoned. With a type, code and policies recognize the error.",
		Example: `  perdure fail order-17 --call 3 --error "the card was stolen" --as CardStolen --reason "the bank says so"`,
	}, func(p *fail) (Operation, error) {
		op := ops.FailNow(NewError(p.As, p.Error))
		return Operation{calls: &op}, nil
	}),
	bulk(Command{
		On: Calls, Name: "pause", Did: "paused", Short: "Pause calls, or an activity",
		Means: "No further attempt of the calls starts until they are resumed. An attempt that runs may end.",
		More: `With --activity alone the activity is paused as a whole: no call of it starts an
attempt on any node of the group. See what is paused: perdure audit`,
		Example: `  perdure pause order-17 --call 3 --reason "the customer is on the phone"
  perdure pause --activity charge --for 2h --reason "the bank is down"
  perdure pause --all --activity charge --type checkout`,
	}, func(p *pauseCalls) (Operation, error) {
		if p.For != 0 {
			return Operation{}, param.Bad("for", "leave it out, or name the activity alone, with --activity", "pauses an activity as a whole; calls that are paused wait until they are resumed")
		}
		op := ops.Pause()
		return Operation{calls: &op}, nil
	}),
	bulk(Command{
		On: Calls, Name: "resume", Did: "resumed", Short: "Resume paused calls, or an activity",
		Means: "Each call continues with what is left of its backoff. One that was paused because its attempts were used up gets one more.",
		More:  "With --activity alone the activity is resumed that was paused as a whole.",
		Example: `  perdure resume order-17
  perdure resume --activity charge
  perdure resume --all --state paused --activity charge`,
	}, onCalls(ops.Resume())),
	editPolicy,
	bulk(Command{
		On: Runs, Name: "pause-run", Label: "Pause run", Did: "paused", Short: "Pause workflows as a whole",
		Means: "The code does not continue and no attempt starts until the workflow is resumed. Attempts that run may end; signals and timers are recorded, and the code sees them when it continues.",
		More:  "To pause only calls: perdure pause",
		Example: `  perdure pause-run order-17 --reason "the customer is on the phone"
  perdure pause-run --all --type checkout --dry-run
  perdure list --status paused`,
	}, onRuns(ops.PauseRun())),
	bulk(Command{
		On: Runs, Name: "resume-run", Label: "Resume run", Did: "resumed", Short: "Resume paused workflows",
		Means: "The workflow continues, with the calls that were paused with it. A run that is parked because its code ended its process is tried again. Calls that were paused by themselves stay paused.",
		More:  "To resume calls that were paused by themselves: perdure resume",
		Example: `  perdure resume-run order-17
  perdure resume-run --all --status paused --type checkout`,
	}, onRuns(ops.ResumeRun())),
	signal,
	reset,
	moveRuns,
	bulk(Command{
		On: Runs, Name: "cancel", Did: "canceled", Danger: true, Short: "Ask workflows to end",
		Means: "The code is told and can clean up; the calls that it waits for are canceled. Asking again does nothing.",
		More: `To end a workflow without asking it: perdure terminate

With --all or --ids many workflows are asked, and the command waits for each of them.`,
		Example: `  perdure cancel order-17 --reason "the customer called"
  perdure cancel --all --type checkout --prefix test- --dry-run`,
	}, sending(ops.CancelRun(), "cancel", "Workflow %s is asked to end.", ops.Cancel)),
	bulk(Command{
		On: Runs, Name: "terminate", Did: "terminated", Danger: true, Short: "End workflows without asking them",
		Means: "The workflow ends now. Its code is not told and cleans nothing up.",
		More: `To ask a workflow to end: perdure cancel

With --all or --ids many workflows are ended, and the command waits for each of them.`,
		Example: `  perdure terminate order-17 --reason "started by mistake"
  perdure terminate --all --status parked --type checkout --dry-run`,
	}, sending(ops.TerminateRun(), "terminate", "Workflow %s ends as soon as an engine serves it.", ops.Terminate)),
	forkRun,
	queryRun,
	updateRun,
}

type retryNow struct {
	Force bool `json:"force,omitempty" help:"also calls that crashed their process on every build that a live node has" label:"Also calls that crashed their process on every build that a live node has: they may crash more"`
	Reason
}

type skip struct {
	Result json.RawMessage `json:"result,omitempty" default:"null" kind:"text" help:"the result as {JSON}" label:"Result, as JSON"`
	Reason
}

type fail struct {
	Error string `json:"error,omitempty" help:"{text} of the error" label:"Error" hint:"what the workflow is told" need:"describe what went wrong"`
	As    string `json:"as,omitempty" help:"{type} of the error, for the rules of policies" label:"Type of the error" hint:"by which code and policies recognize it; may be empty"`
	Reason
}

// OrNull returns a value, or null if there is none.
func OrNull(v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return json.RawMessage("null")
	}
	return v
}

var signal = bulk(Command{
	On: Runs, Name: "signal", Did: "signaled", Short: "Send a signal to workflows",
	Means: "The workflow's code gets the signal when it asks for it. Once the signal is in the database no crash loses it.",
	More: `The value is JSON; without one it is null, and with - it is read from standard input.

With --id the signal has an idempotency key: sending it again does nothing.

With --all or --ids the signal is sent to many workflows, the command waits for each of them, and
the arguments are NAME [JSON].`,
	Example: `  perdure signal order-17 approved true
  perdure signal order-17 address '{"city": "Lyon"}' --id address-change-4
  perdure signal order-17 comment '"a text needs quotes inside quotes"'
  perdure signal --all --type checkout close --dry-run`,
}, func(p *signalParams) (Operation, error) {
	value := OrNull(p.Value)
	return Operation{runs: ops.SignalRun(p.Signal, value), send: func(a *Ask, _ *Reason) (Sent, error) {
		sent := Sent{WorkflowID: a.Name, Sent: "signal", Name: p.Signal, Key: p.Key, Says: "Signal " + p.Signal + " is in the database; workflow " + a.Name + " receives it when its code asks for it."}
		return sent, workflow.NewSignal[json.RawMessage](p.Signal).SendOnce(a.Ctx, a.Engine.Workflow(a.Name), p.Key, value)
	}}, nil
})

type signalParams struct {
	Signal string          `json:"signal,omitempty" arg:"NAME" help:"name of the signal" label:"Name of the signal" need:"give the one that the workflow's code awaits"`
	Value  json.RawMessage `json:"value,omitempty" arg:"[JSON]" default:"null" kind:"text" help:"value of the signal" label:"Value, as JSON"`
	Key    string          `json:"-" flag:"id" form:"-" help:"idempotency {key} of the signal"`
	Reason
}

var reset = fills(bulk(Command{
	On: Runs, Name: "reset", Did: "reset", Short: "Send workflows back to a call",
	Means: "The workflow continues as if its code, as it is now, had just reached the call. Calls before it keep their results; the call and all later ones are made again, under other idempotency keys: what they have done is done twice, unless they keep their keys. A workflow that has ended is continued by a new run. Signals that came since then are delivered again.",
	More:  "A dry run names the calls that have completed. See the numbers of calls: perdure history ID",
	Example: `  perdure reset order-17 --call 4 --reason "the stock system is fixed" --dry-run
  perdure reset --all --call 4 --status failed --type checkout --dry-run`,
}, func(p *resetParams) (Operation, error) {
	if p.Call < 1 {
		return Operation{}, noCall(p.Call)
	}
	if p.KeepKeys {
		return Operation{runs: ops.ResetRunKeepingKeys(p.Call)}, nil
	}
	return Operation{runs: ops.ResetRun(p.Call)}, nil
}), proposeReset)

type resetParams struct {
	Call     int64 `json:"call,omitempty" help:"{number} of the first call that runs again" label:"Number of the first call to make again" hint:"as the history shows it" need:"name the one from which to continue, as histories number it"`
	KeepKeys bool  `json:"keep_keys,omitempty" help:"calls that run again keep their idempotency keys" label:"Under the idempotency keys that they had: what is behind them does not do twice what it has done"`
	Reason
}

var moveRuns = bulk(Command{
	On: Runs, Name: "move-runs", Label: "Move to a build", Did: "moved", Everywhere: true, Short: "Move pinned workflows to another build",
	Means: "Workflows that are pinned to a build (workflow.Pinned) stay on another one from now on. What a workflow runs ends where it is; then it continues at a node of that build. It is parked there if its code does not fit, and moving it back undoes that. If there is no such node, it waits for one.",
	More: `Without an ID it is all of those on the build --from, or that flags select among them. See
which builds there are: perdure nodes

With --dry-run nothing moves: each workflow is shown with what would become of it. Whether
code fits histories, a program of that build says: see docs/deploying.md.`,
	Example: `  perdure move-runs --from v1.4.0 --to v1.4.1 --dry-run
  perdure move-runs --from v1.4.0 --to v1.4.1 --type checkout --reason "v1.4.0 charges twice"
  perdure move-runs order-17 --to v1.4.1`,
}, func(p *moveParams) (Operation, error) { return Operation{runs: ops.MoveRun(p.From, p.To)}, nil })

type moveParams struct {
	From string `json:"from,omitempty" help:"the {build} on which the workflows are, as perdure nodes shows it" label:"Build on which it stays now" hint:"others are left alone; may be empty"`
	To   string `json:"to,omitempty" help:"the {build} on which they stay from now on" label:"Build on which it stays from now on" hint:"as the page of nodes shows it" need:"name the build to which workflows move; see which there are: perdure nodes"`
	Reason
}

// ofMany says what must be known if many runs are meant.
func (p *moveParams) ofMany() error {
	if p.From == "" {
		return param.Bad("from", "name the build on which the workflows are; see which there are: perdure nodes", "is missing")
	}
	return nil
}
