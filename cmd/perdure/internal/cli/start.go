package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func startCommand(scr *screen, db *source) *cobra.Command {
	s := &startFlags{}
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
		// The argument may be a flow file: the shell offers files if no type matches.
		ValidArgsFunction: db.completeStart,
		RunE: func(cmd *cobra.Command, args []string) error {
			return startArguments(scr, db, cmd, args, s)
		},
	}
	addParams(scr, cmd, &s.Start, "")
	s.actions = otherActions(cmd)
	s.input = inputFlag(cmd.Flags())
	return cmd
}

type startFlags struct {
	command.Start
	actions *[]string
	input   func(argument string, given bool) (string, error)
}

// startArguments interprets the arguments, and starts the workflow or flow file.
func startArguments(scr *screen, db *source, cmd *cobra.Command, args []string, s *startFlags) error {
	workflow, id, input := args[0], "", "null"
	if len(args) > 1 {
		id = args[1]
	}
	if len(args) > 2 {
		input = args[2]
	}
	isFlow := strings.HasSuffix(workflow, view.FlowEnding)
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
		case len(*s.actions) > 0:
			return usage("Leave --action out.", "%q is not a flow file, and only flow files have actions.", workflow)
		}
		return start(scr, db, cmd.Context(), workflow, id, input, &s.Start)
	}
	if s.Like != "" {
		return usage("Leave --like out, and give the input.", "A flow file is started as it is now, not like an earlier run.")
	}
	if input == "null" {
		input = ""
	}
	program, err := flowStart(scr, workflow, input, *s.actions)
	if err != nil {
		return err
	}
	id = cmp.Or(id, flowID(program))
	text, err := json.Marshal(program)
	if err != nil {
		return err
	}
	db.creates = true
	nameFile(&s.RunSettings, program.Name)
	return start(scr, db, cmd.Context(), flow.Workflow.Name(), id, string(text), &s.Start)
}

// start starts a workflow. A text of null is an input if none is to be taken over.
func start(scr *screen, db *source, ctx context.Context, name, id, text string, p *command.Start) error {
	input, err := scr.jsonValue("input of the workflow", text)
	if err != nil {
		return err
	}
	if p.Workflow, p.WorkflowID = name, id; p.Like == "" || text != "null" {
		p.Input = input
	}
	u := &use{Command: command.Find(command.Workflow, "start"), params: p}
	u.explain = func(e *perdure.Engine, err error) error {
		used, is := errors.AsType[*view.IDInUseError](err)
		if !is {
			return err
		}
		namesFile(ctx, e, used, input)
		return failure(exitError, "Use another ID, or --new-after if that run is closed. See: "+db.sameDatabase("perdure show", id),
			"Workflow ID %q belongs to run %s (%s), and %s.", id, used.Run, used.Status, used.Difference)
	}
	return carryOut(scr, db, ctx, u, name)
}
