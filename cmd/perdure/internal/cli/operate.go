package cli

import (
	"context"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/retry"
	"github.com/spf13/cobra"
)

// operation makes the command of an operation. prepare makes the operation itself
// from the flags that it has beside the common ones.
func (a *app) operation(cmd *cobra.Command, named bool, prepare func(c *control) (perdure.Operation, error)) *cobra.Command {
	c := &control{name: strings.Fields(cmd.Use)[0]}
	c.addFlags(cmd)
	cmd.Args = arguments
	cmd.ValidArgsFunction = a.completeID
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && !c.all && c.calls.Name != "" && (c.name == "pause" || c.name == "resume") {
			return a.switchCommand(cmd, c)
		}
		err := c.check(cmd, args, named)
		if err == nil {
			c.op, err = prepare(c)
		}
		if err != nil {
			return err
		}
		return c.run(cmd.Context(), a, args)
	}
	return cmd
}

// always is an operation that needs no more flags.
func always(op perdure.Operation) func(*control) (perdure.Operation, error) {
	return func(*control) (perdure.Operation, error) { return op, nil }
}

// switchCommand is pause or resume of an activity, without any workflow.
func (a *app) switchCommand(cmd *cobra.Command, c *control) error {
	if flag := anyChanged(cmd, append([]string{"call", "state", "error-type", "dry-run"}, selecting...)); flag != "" {
		return usage("For calls of workflows name the workflow, or say --all.", "--%s has no meaning for an activity as a whole.", flag)
	}
	return a.switched(cmd.Context(), c, c.name == "pause")
}

func (a *app) retryNowCommand() *cobra.Command {
	return a.operation(&cobra.Command{
		Use:   "retry-now [ID]",
		Short: "Start the next attempt of calls at once",
		Long: `Start the next attempt of pending calls at once: of those that wait for their backoff,
are paused, or are quarantined. The wait that is cut short is charged to nobody.`,
		Example: `  perdure retry-now order-17 --reason "the gateway is back"
  perdure retry-now --all --activity charge --state backoff --dry-run`,
	}, false, always(perdure.RetryNow()))
}

func (a *app) pauseCommand() *cobra.Command {
	return a.operation(&cobra.Command{
		Use:   "pause [ID]",
		Short: "Let calls, or an activity, start no further attempt",
		Long: `Pause pending calls: no further attempt starts until they are resumed. An attempt that
runs may end.

With --activity alone the activity is paused as a whole: no call of it starts an
attempt on any node of the group. See what is paused: perdure audit`,
		Example: `  perdure pause order-17 --call 3 --reason "the customer is on the phone"
  perdure pause --activity charge --reason "the bank is down"
  perdure pause --all --activity charge --type checkout`,
	}, false, always(perdure.Pause()))
}

func (a *app) resumeCommand() *cobra.Command {
	return a.operation(&cobra.Command{
		Use:   "resume [ID]",
		Short: "Let paused calls, or an activity, go on",
		Long: `Resume paused calls: what is left of a backoff is waited for. A call that was paused
because its attempts were used up gets one more.

With --activity alone the activity is resumed that was paused as a whole.`,
		Example: `  perdure resume order-17
  perdure resume --activity charge
  perdure resume --all --state paused --activity charge`,
	}, false, always(perdure.Resume()))
}

func (a *app) skipCommand() *cobra.Command {
	result := "null"
	cmd := a.operation(&cobra.Command{
		Use:         "skip [ID]",
		Annotations: map[string]string{givenBy: "result"},
		Short:       "Complete calls with a result of your own",
		Long: `Complete pending calls with a result, as if their body had returned it. The result is
JSON, or - to read it from standard input; one that the workflow's code cannot read
is refused. An attempt that runs is given up.`,
		Example: `  perdure skip order-17 --call 3 --result '{"receipt": "paid in cash"}' --reason "the customer is in the shop"`,
	}, true, func(*control) (perdure.Operation, error) {
		value, err := a.jsonValue("result", result)
		return perdure.Skip(value), err
	})
	cmd.Flags().StringVar(&result, "result", result, "the result as `JSON`")
	return cmd
}

func (a *app) failCommand() *cobra.Command {
	var message, kind string
	cmd := a.operation(&cobra.Command{
		Use:         "fail [ID]",
		Annotations: map[string]string{givenBy: "error"},
		Short:       "Fail calls with an error of your own",
		Long: `Fail pending calls with an error, which the workflow's code gets at once. No attempt
follows, and one that runs is given up. With --as the error has a type, by which code
and policies know it.`,
		Example: `  perdure fail order-17 --call 3 --error "the card was stolen" --as CardStolen --reason "the bank says so"`,
	}, true, func(*control) (perdure.Operation, error) {
		if message == "" {
			return perdure.Operation{}, usage("Say what the workflow is told with --error.", "The error is missing.")
		}
		return perdure.FailNow(&typedError{message, kind}), nil
	})
	cmd.Flags().StringVar(&message, "error", "", "`text` of the error")
	cmd.Flags().StringVar(&kind, "as", "", "`type` of the error")
	return cmd
}

// typedError is the error that somebody gives.
type typedError struct{ message, kind string }

func (e *typedError) Error() string { return e.message }

// ErrorType is the type that it claims to be of.
func (e *typedError) ErrorType() string {
	if e.kind == "" {
		return retry.TypeError
	}
	return e.kind
}

func (a *app) editPolicyCommand() *cobra.Command {
	var text string
	cmd := a.operation(&cobra.Command{
		Use:         "edit-policy [ID]",
		Annotations: map[string]string{givenBy: "policy"},
		Short:       "Give calls another retry policy",
		Long: `Give pending calls another retry policy. It holds from the next decision on; what was
decided stays: a backoff ends when it was to end. The policy is text in brackets, or
JSON, or the name of a ready-made one, or - to read it from standard input. See what
one amounts to: perdure policy explain`,
		Example: `  perdure edit-policy order-17 --call 3 --policy '[retry: 20, backoff: 1m]' --reason "the outage is long"`,
	}, true, func(*control) (perdure.Operation, error) {
		if text == "" {
			return perdure.Operation{}, usage("Give one with --policy.", "The policy is missing.")
		}
		p, err := a.policyValue(text)
		return perdure.EditPolicy(p), err
	})
	cmd.Flags().StringVar(&text, "policy", "", "the `policy`")
	return cmd
}

// policyValue reads a policy that can be used.
func (a *app) policyValue(text string) (retry.Policy, error) {
	text, err := a.textValue("policy", text)
	if err != nil {
		return retry.Policy{}, err
	}
	p, err := readPolicy(text)
	if err != nil {
		return p, err
	}
	if err := p.Validate(); err != nil {
		return p, usage("See: perdure policy explain --help", "%s", sentence(err))
	}
	return p, nil
}

func (a *app) auditCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "audit [ID]",
		Short: "Show what people did to a workflow, and when and why",
		Long: `Show what was done to a workflow and its calls: by whom, when and why, and what came of
it; and where the engine itself made a call wait for a person. Without an ID it shows
which activities were paused and resumed as a whole.`,
		Example: `  perdure audit order-17
  perdure audit -o json`,
		Args:              arguments,
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.auditGroup(cmd.Context())
			}
			return a.audit(cmd.Context(), args[0])
		},
	}
}

func (a *app) audit(ctx context.Context, id string) error {
	return a.withRun(ctx, id, func(e *perdure.Engine) error {
		records, err := e.Audit(ctx, id)
		if err != nil {
			return err
		}
		return listing(a, records, "Nobody did anything to workflow "+id+" or its calls.", a.controlTable)
	})
}

func (a *app) auditGroup(ctx context.Context) error {
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		records, err := e.Switches(ctx)
		if err != nil {
			return err
		}
		return listing(a, records, "No activity was ever paused as a whole"+a.inGroup()+".", func(records []perdure.SwitchRecord) error {
			if err := a.switchTable(records); err != nil {
				return err
			}
			return a.pausedNow(ctx, e)
		})
	})
}

// pausedNow names the activities that are paused in the whole group.
func (a *app) pausedNow(ctx context.Context, e *perdure.Engine) error {
	current, err := e.PausedActivities(ctx)
	var names []string
	for _, r := range current {
		names = append(names, r.Name)
	}
	if len(names) > 0 {
		a.printf("\nPaused now: %s\n", strings.Join(names, ", "))
	}
	return err
}
