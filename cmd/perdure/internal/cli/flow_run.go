package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/flow/syntax"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workflow"
	"github.com/spf13/cobra"
)

// flowRunOptions are the flags of flow run.
type flowRunOptions struct {
	actions flowActions
	id      string
	input   string
	again   bool
	forward bool
	one     string
}

func flowRunCommand(scr *screen, db *source) *cobra.Command {
	var opt flowRunOptions
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a flow file and show its progress",
		Long: `Run a flow file as a durable workflow, and show its progress: its steps, their attempts,
when the next one is due, and what it waits for. The result is written to standard
output as JSON.

If the command is killed, the same command continues where the run was: the ID is made of
the file name and the input, unless --id gives one. Once the run has ended, the same
command only shows its result; --again starts a new run.

The database is created if need be. On a PostgreSQL database the command becomes a node
of a group of its own: name it with --group.`,
		Example: `  perdure flow run nightly.flow
  perdure flow run nightly.flow --input '{"day": "2026-01-31"}' --id nightly-31
  perdure flow run nightly.flow --again
  perdure flow run build.flow --allow-shell --files .`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case opt.one != "" && !opt.forward:
				return usage("Add --fast-forward.", "A case is for a rehearsal in virtual time.")
			case opt.forward && (opt.id != "" || opt.input != "" || opt.again):
				return usage("Leave them out; the case has the input.", "A rehearsal has no --id, --input or --again: it stores nothing.")
			case opt.forward:
				known, err := opt.actions.known()
				if err != nil {
					return err
				}
				return flowForward(scr, args[0], opt.one, known)
			}
			return flowRun(scr, db, cmd.Context(), args[0], opt)
		},
	}
	opt.actions.flags(cmd)
	cmd.Flags().StringVar(&opt.id, "id", "", "workflow `ID` of the run (default: the file name and a hash of the input)")
	cmd.Flags().BoolVar(&opt.again, "again", false, "start a new run if the last one has ended")
	cmd.Flags().BoolVar(&opt.forward, "fast-forward", false, "rehearse it in virtual time with the mocks of FILE's .test.json; nothing is stored")
	cmd.Flags().StringVar(&opt.one, "case", "", "`name` of the case to rehearse (default: the first)")
	cmd.Flags().StringVar(&opt.input, "input", "", "the inputs as a `JSON` object, or - for standard input")
	return cmd
}

func flowServeCommand(scr *screen, db *source) *cobra.Command {
	var actions flowActions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the flow files that are started in a database",
		Long: `Run the flow files that are started in a database with perdure start FILE, until
interrupted. Runs that were interrupted continue. The database is created if need be.`,
		Example: `  perdure flow serve --db flows.db
  perdure start nightly.flow --db flows.db`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range actions.secrets {
				if _, ok := os.LookupEnv(name); !ok {
					return noVariable(name)
				}
			}
			runtime, err := actions.runtime(func(text string) { flowLog(scr, text) })
			if err != nil {
				return err
			}
			return withFlowEngine(db, cmd.Context(), runtime, slog.New(&refusals{scr: scr}), func(eng *perdure.Engine) error {
				if err := startFlows(cmd.Context(), eng); err != nil {
					return err
				}
				scr.notef("Serving flow files in %s, %s. What needs more waits for a process that allows it.\nInterrupt to stop; open runs continue with the next engine.\n", eng.Location(), actions.allowed())
				<-cmd.Context().Done()
				return cmd.Context().Err()
			})
		},
	}
	actions.flags(cmd)
	return cmd
}

// flowLog implements @log.
func flowLog(scr *screen, message string) {
	for _, line := range human.Lines(message) {
		scr.notef("%s\n", line)
	}
}

// loadFlow reads a file and its input. It reports faults as flow check does.
func loadFlow(scr *screen, runtime *flow.Runtime, path, input string) (flow.Program, error) {
	text, err := readFlow(scr, path)
	if err != nil {
		return flow.Program{}, err
	}
	file, err := runtime.Load(filepath.Base(path), text)
	if err != nil {
		faults, is := errors.AsType[flow.Faults](err)
		if !is {
			return flow.Program{}, err
		}
		return flow.Program{}, failure(exitError, fmt.Sprintf("The file was not run: it has %s.", human.Plural(len(faults), "fault", "faults")), "%s", faults.Error())
	}
	var value any
	if input != "" {
		if value, err = scr.jsonValue("input", input); err != nil {
			return flow.Program{}, err
		}
	}
	program, err := file.With(value)
	if err != nil {
		hint := "The program takes no input; leave it out."
		if names := file.Inputs(); len(names) > 0 {
			hint = "Its inputs are " + strings.Join(names, ", ") + ": a JSON object such as {\"" + names[0] + "\": \"...\"}"
		}
		return flow.Program{}, usage(hint, "%s", human.Sentence(strings.TrimPrefix(err.Error(), "flow: ")))
	}
	return program, nil
}

// missingSecret reports a secret that the program uses and this process lacks, before the
// run instead of in it.
func (f *flowActions) missingSecret(p flow.Program) error {
	tree, err := syntax.Parse(p.Name, p.Source)
	if err != nil {
		return err
	}
	for _, name := range syntax.Secrets(tree) {
		if !slices.Contains(f.secrets, name) {
			return usage("Allow it: --secret "+name, "The file uses the secret %s, which is not allowed.", name)
		}
		if _, ok := os.LookupEnv(name); !ok {
			return noVariable(name)
		}
	}
	return nil
}

func noVariable(name string) error {
	return usage("Set it before the command, by your shell or your secret manager.", "The environment has no variable %s, which is to be a secret.", name)
}

// flowID returns the default ID of a run: the same for the same file and input.
func flowID(p flow.Program) string {
	name := strings.TrimSuffix(p.Name, view.FlowEnding)
	if len(p.Input) == 0 {
		return name
	}
	sum := sha256.Sum256(p.Input)
	return name + "-" + hex.EncodeToString(sum[:4])
}

// withFlowEngine runs f with an engine for flow files that is yet to be started. It creates the
// database if needed.
func withFlowEngine(db *source, ctx context.Context, runtime *flow.Runtime, logger *slog.Logger, f func(eng *perdure.Engine) error) error {
	name, err := db.database()
	if err != nil {
		return err
	}
	if _, given := db.group(); name.Shared() && !given {
		return usage("Name a group of its own: --group flow", "In a PostgreSQL database this command becomes a node of a group, and all nodes of a group must have the same code.")
	}
	if err := name.Reach(ctx); err != nil {
		return err
	}
	eng, err := db.engine(ctx, name, perdure.Register(runtime.Definitions()...), perdure.Logger(logger))
	if err != nil {
		return err
	}
	return errors.Join(f(eng), eng.Close())
}

// startFlows starts an engine for flow files.
func startFlows(ctx context.Context, eng *perdure.Engine) error {
	err := eng.Start(ctx)
	if used, ok := errors.AsType[*store.InUseError](err); ok {
		return failure(exitError, "If that engine runs flow files, start this one there: perdure start FILE", "%s", human.Sentence(used.Error()))
	}
	return err
}

func flowRun(scr *screen, db *source, ctx context.Context, path string, opt flowRunOptions) error {
	screen := newFlowScreen(scr)
	name, err := db.database()
	if err != nil {
		return err
	}
	// A database of its own has one process at a time, which leaves other runs alone. In a
	// shared one the nodes of the group serve all of its runs together.
	id := ""
	var only []flow.Option
	if !name.Shared() {
		only = append(only, flow.Only(func(other string) bool { return other == id }))
	}
	runtime, err := opt.actions.runtime(screen.log, only...)
	if err != nil {
		return err
	}
	program, err := loadFlow(scr, runtime, path, opt.input)
	if err != nil {
		return err
	}
	if id = opt.id; id == "" {
		id = flowID(program)
	}
	var options []perdure.StartOption
	named := command.RunSettings{}
	nameFile(&named, program.Name)
	for _, o := range named.Options() {
		options = append(options, o)
	}
	if opt.actions.files != "" {
		options = append(options, workflow.Headers(map[string]string{flow.FilesHeader: flow.FilesOf(opt.actions.files)}))
	}
	if opt.again {
		options = append(options, perdure.NewAfter(perdure.AnyEnd))
	}
	return withFlowEngine(db, ctx, runtime, slog.New(slog.DiscardHandler), func(eng *perdure.Engine) error {
		// Before the engine starts: an open run may continue at once, and end before the next look.
		last, err := eng.Workflow(id).Describe(ctx)
		if err != nil && !errors.Is(err, perdure.ErrNotFound) {
			return err
		}
		ended := err == nil && last.Closed != nil
		if missing := opt.actions.missingSecret(program); missing != nil && (!ended || opt.again) { // a closed run reads none
			return missing
		}
		if err := startFlows(ctx, eng); err != nil {
			return err
		}
		h, err := perdure.Start(ctx, eng, flow.Workflow, id, program, options...)
		if used, ok := errors.AsType[*view.IDInUseError](err); ok {
			data, _ := json.Marshal(program) // its parts are JSON already
			namesFile(ctx, eng, used, data)
			return otherFlowOf(db, id, used)
		}
		if err != nil {
			return err
		}
		screen.places = placesOf(program.Source)
		ended = ended && h.RunID() == last.RunID
		screen.begin(h, last, ended)
		if !ended {
			if err := others(scr, db, ctx, eng, id, name.Shared(), &opt.actions); err != nil {
				return err
			}
		}
		result, err := screen.follow(ctx, eng, h)
		return flowResult(scr, db, ctx, id, h.RunID(), result, err)
	})
}

// others says what becomes of other open runs of flow files while one is run.
func others(scr *screen, db *source, ctx context.Context, eng *perdure.Engine, id string, shared bool, actions *flowActions) error {
	const most = 1000
	runs, err := eng.List(ctx, view.Filter{Workflow: flow.Workflow.Name(), Status: []string{view.StatusRunning}, Limit: most})
	if err != nil {
		return err
	}
	n := len(slices.DeleteFunc(runs, func(r view.Run) bool { return r.WorkflowID == id }))
	switch {
	case n == 0:
	case shared:
		scr.notef("%s of the group may continue here, too, %s.\n", human.Plural(n, "other run", "other runs"), actions.allowed())
	default:
		scr.notef("%s meanwhile. To run all: %s\n", human.Plural(n, "other run waits", "other runs wait"), db.sameDatabase("perdure flow serve"))
	}
	return nil
}

// nameFile gives a run the attribute by which it is listed under the name of its file, unless
// no attribute can have that name, or another one is given.
func nameFile(s *command.RunSettings, name string) {
	const most = 128
	if _, given := s.Attributes[view.FileAttribute]; given || !strings.HasSuffix(name, view.FlowEnding) || len(name) > most || strings.ContainsFunc(name, unicode.IsControl) {
		return
	}
	if s.Attributes == nil {
		s.Attributes = param.Pairs{}
	}
	s.Attributes[view.FileAttribute] = name
}

// flowOf returns the file that a run runs, if it runs one.
func flowOf(d *view.Description) (p flow.Program, is bool) {
	is = (d.Workflow == flow.Workflow.Name() || strings.HasSuffix(d.Workflow, view.FlowEnding)) && json.Unmarshal(d.Input.JSON, &p) == nil && p.SHA256 != ""
	return p, is
}

// namesFile says of a flow file under an ID in use whether its text or its input differs: both
// are the input of the interpreter.
func namesFile(ctx context.Context, eng *perdure.Engine, used *view.IDInUseError, input []byte) {
	d, err := eng.Workflow(used.WorkflowID).OfRun(used.Run).Describe(ctx)
	if err != nil {
		return
	}
	var is flow.Program
	was, before := flowOf(d)
	if !before || json.Unmarshal(input, &is) != nil || is.SHA256 == "" {
		return
	}
	switch {
	case was.SHA256 != is.SHA256:
		used.Difference = "its file had another text when it was started"
	case was.Name != is.Name:
		used.Difference = fmt.Sprintf("its file was called %s", was.Name)
	}
}

// otherFlow returns the error for an ID whose run has another text or input.
func otherFlowOf(db *source, id string, used *view.IDInUseError) error {
	if used.Status != "running" {
		return failure(exitError, "Start a new run with this file and input: --again. See the last one: "+db.sameDatabase("perdure show", id),
			"The workflow %q has ended (%s), and %s.", id, used.Status, used.Difference)
	}
	return failure(exitError, "Go on with it: "+db.sameDatabase("perdure flow serve")+". Or choose another ID with --id, or end it: "+db.sameDatabase("perdure cancel", id),
		"The workflow %q is open, and %s. It keeps the file and the input with which it was started.", id, used.Difference)
}

// flowEnd is the outcome of a run, for programs.
type flowEnd struct {
	WorkflowID string          `json:"workflow_id"`
	RunID      string          `json:"run_id"`
	Status     string          `json:"status"`
	Result     json.RawMessage `json:"result,omitempty"`
	ErrorType  string          `json:"error_type,omitempty"`
	Message    string          `json:"message,omitempty"`
}

// flowResult prints the outcome of a run.
func flowResult(scr *screen, db *source, ctx context.Context, id, run string, result json.RawMessage, err error) error {
	failed, isFailure := errors.AsType[*perdure.RunError](err)
	switch {
	case err != nil && ctx.Err() != nil:
		return failure(exitInterrupted, "", "Interrupted. To continue the run, repeat the command.")
	case err != nil && !isFailure:
		return err
	}
	end := flowEnd{WorkflowID: id, RunID: run, Status: "completed", Result: result}
	outcome := error(nil)
	if isFailure {
		end.Status, end.Result = failed.Status, nil
		end.ErrorType, end.Message = flowFailure(failed)
		outcome = failure(exitRunFailed, "See every attempt: "+db.sameDatabase("perdure attempts", id),
			"Workflow %q %s: %s", id, wasStatus(failed.Status), wording.Typed(end.ErrorType, end.Message))
	}
	switch {
	case scr.format != formatTable:
		if err := scr.document(end); err != nil {
			return err
		}
		if isFailure {
			return &Error{Code: exitRunFailed, Silent: true}
		}
	case !isFailure && string(result) != "null":
		scr.printf("%s\n", string(result))
	}
	return outcome
}

// flowFailure returns the error of a program. For an action that was given up, it is the
// last error of the action.
func flowFailure(failed *perdure.RunError) (kind, message string) {
	err := failed.Err
	if err == nil {
		return failed.Status, failed.Reason
	}
	if gaveUp, ok := errors.AsType[*retry.ExhaustedError](err); ok && gaveUp.Err != nil {
		return retry.Classify(gaveUp.Err).Type(), flow.Place(err) + strings.TrimPrefix(gaveUp.Error(), gaveUp.Name+": ")
	}
	return retry.Classify(err).Type(), err.Error()
}

// flowStart returns the input with which perdure start starts a flow file. The engine that
// runs it decides whether it may use the shell and files.
func flowStart(scr *screen, path, input string, named []string) (flow.Program, error) {
	actions := flowActions{shell: true, files: ".", named: named}
	runtime, err := actions.runtime(func(text string) { flowLog(scr, text) })
	if err != nil {
		return flow.Program{}, err
	}
	return loadFlow(scr, runtime, path, input)
}
