package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
	"github.com/spf13/cobra"
)

func startCommand(scr *screen, db *source) *cobra.Command {
	var s startFlags
	cmd := &cobra.Command{
		Use:   "start WORKFLOW|FILE [ID] [JSON]",
		Short: "Start a workflow, or a flow file",
		Long: `Start a workflow under an ID. The input is JSON; without one it is null, and with - it
is read from standard input. When the command returns, the workflow is in the
database: no crash loses it, and an engine that has its code runs it.

If the ID already belongs to that workflow with that input, the command attaches to it,
so starting twice starts once. With --new-after the ID of a closed run is used again:
"any" however it ended, "failure" unless it completed. With --must-be-new the command
fails instead of attaching; with --any-input it attaches to a run with another input, too.

A name that ends in .flow is a flow file, a workflow in text: the input is an object
with its inputs. Without an ID, one is made of the file name and the input. The file is
checked before anything starts. It runs on an engine that runs flow files (perdure flow
serve, or a program with package flow); name the actions of such a program with --action.`,
		Example: `  perdure start nightly.flow '{"day": "2026-01-31"}'
  perdure start nightly.flow nightly-31 '{"day": "2026-01-31"}'
  perdure start checkout order-17 '{"item": "grinder"}'
  perdure start report yesterday --new-after failure
  perdure start remind order-17-reminder --delay 24h --memo '"by hand"'`,
		Args: arguments,
		// The argument may be a flow file: the shell offers files if no type matches.
		ValidArgsFunction: db.completeStart,
		RunE: func(cmd *cobra.Command, args []string) error {
			return startArguments(scr, db, cmd, args, s)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.newAfter, "new-after", "", "use the ID of a closed run again: `any`, or failure for one that did not complete")
	flags.BoolVar(&s.mustBeNew, "must-be-new", false, "fail if the ID is in use")
	flags.BoolVar(&s.anyInput, "any-input", false, "attach to the workflow with this ID, also if its input is another one")
	flags.DurationVar(&s.delay, "delay", 0, "start its code after this `duration`")
	s.run.add(flags)
	flags.StringSliceVar(&s.actions, "action", nil, "of a flow file: `name` of an action of the program that runs it; several with commas")
	s.input = inputFlag(flags)
	_ = cmd.RegisterFlagCompletionFunc("new-after", cobra.FixedCompletions([]string{"any", "failure"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

type startFlags struct {
	newAfter  string
	mustBeNew bool
	anyInput  bool
	delay     time.Duration
	actions   []string
	run       runFlags
	input     func(argument string, given bool) (string, error)
}

// startArguments interprets the arguments, and starts the workflow or flow file.
func startArguments(scr *screen, db *source, cmd *cobra.Command, args []string, s startFlags) error {
	workflow, id, input := args[0], "", "null"
	if len(args) > 1 {
		id = args[1]
	}
	if len(args) > 2 {
		input = args[2]
	}
	isFlow := strings.HasSuffix(workflow, flowEnding)
	if isFlow && len(args) == 2 && (id == "-" || strings.HasPrefix(strings.TrimSpace(id), "{")) {
		id, input = "", id // an object is not an ID
		args = args[:1]
	}
	input, err := s.input(input, input != "null" || len(args) > 2)
	if err != nil {
		return err
	}
	if !isFlow {
		switch {
		case id == "":
			return usage("Usage: "+cmd.UseLine(), "The ID is missing.")
		case len(s.actions) > 0:
			return usage("Leave --action out.", "%q is not a flow file, and only flow files have actions.", workflow)
		}
		return start(scr, db, cmd.Context(), workflow, id, input, s)
	}
	if input == "null" {
		input = ""
	}
	program, err := flowStart(scr, workflow, input, s.actions)
	if err != nil {
		return err
	}
	if id == "" {
		id = flowID(program)
	}
	text, err := json.Marshal(program)
	if err != nil {
		return err
	}
	db.creates = true
	s.run.attrs = append(s.run.attrs, fileAttribute(program.Name)...)
	return start(scr, db, cmd.Context(), flow.Workflow.Name(), id, string(text), s)
}

// named returns a workflow of which only the name is known.
func named(name string) workflow.Workflow[json.RawMessage, json.RawMessage] {
	return workflow.Declare[json.RawMessage, json.RawMessage](name)
}

// started is the result for programs.
type started struct {
	WorkflowID string `json:"workflow_id"`
	RunID      string `json:"run_id"`
	Workflow   string `json:"workflow"`
	Attached   bool   `json:"attached"` // the run existed before
	Warning    string `json:"warning,omitempty"`
}

func start(scr *screen, db *source, ctx context.Context, name, id, text string, s startFlags) error {
	input, err := scr.jsonValue("input of the workflow", text)
	if err != nil {
		return err
	}
	all, err := s.run.options(scr)
	if err != nil {
		return err
	}
	var options []perdure.StartOption
	for _, o := range all {
		options = append(options, o)
	}
	switch s.newAfter {
	case "":
	case "any":
		options = append(options, perdure.NewAfter(perdure.AnyEnd))
	case "failure":
		options = append(options, perdure.NewAfter(perdure.Failure))
	default:
		return usage("Use any, or failure.", "%q is not a value for --new-after.", s.newAfter)
	}
	if s.mustBeNew && s.anyInput {
		return usage("Leave one out.", "--any-input says how to attach to a workflow, and --must-be-new that it must not be done.")
	}
	if s.mustBeNew {
		options = append(options, perdure.MustBeNew())
	}
	if s.anyInput {
		options = append(options, perdure.AnyInput())
	}
	if s.delay != 0 {
		options = append(options, workflow.Delay(s.delay))
	}
	return db.withEngine(ctx, func(e *perdure.Engine) error {
		h, err := perdure.Start(ctx, e, named(name), id, json.RawMessage(input), options...)
		if used, ok := errors.AsType[*view.IDInUseError](err); ok {
			namesFile(ctx, e, used, input)
			return &Error{
				Code: exitError, What: fmt.Sprintf("Workflow ID %q belongs to run %s (%s), and %s.", id, used.Run, used.Status, used.Difference),
				Hint: "Use another ID, or --new-after if that run is closed. See: " + db.sameDatabase("perdure show "+term.Quote(id)),
			}
		}
		if err != nil {
			return err
		}
		warning, _ := ops.Unregistered(ctx, e, "workflow", name) // the workflow has started, warning or not
		if scr.format != formatTable {
			return scr.document(started{WorkflowID: id, RunID: h.RunID(), Workflow: name, Attached: h.Attached(), Warning: warning})
		}
		defer scr.warn(warning)
		if h.Attached() {
			scr.printf("Workflow %s was started before: run %s. See: %s\n", id, h.RunID(), db.sameDatabase("perdure show "+term.Quote(id)))
			return nil
		}
		scr.printf("Started workflow %s: run %s. To see its progress: %s\n", id, h.RunID(), db.sameDatabase("perdure show "+term.Quote(id)))
		return nil
	})
}
