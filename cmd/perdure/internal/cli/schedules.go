package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func (a *app) schedulesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedules",
		Short: "List schedules, which start workflows repeatedly",
		Long: `List the schedules of a group: when each fires next, what it starts, how many of its
runs are open, and how the last one ended.`,
		Example: `  perdure schedules
  perdure schedules create nightly report '{"of": "yesterday"}' --cron "30 2 * * *" --zone Europe/Paris
  perdure schedules show nightly
  perdure schedules pause nightly --reason "the warehouse is closed"
  perdure schedules backfill nightly --from 2026-11-01T00:00:00Z --until 2026-11-20T00:00:00Z`,
		Args: a.noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.schedules(cmd.Context()) },
	}
	cmd.AddCommand(a.createScheduleCommand(), a.updateScheduleCommand(), a.showScheduleCommand(), a.triggerScheduleCommand(), a.backfillScheduleCommand(),
		a.tellCommand("schedule", "pause NAME", "paused", "Pause a schedule",
			"The schedule starts nothing until \"perdure schedules resume\". Open runs go on; fires\nthat wait for them are skipped.",
			"  perdure schedules pause nightly --reason \"the warehouse is closed\"", ops.PauseSchedule),
		a.tellCommand("schedule", "resume NAME", "resumed", "Resume a paused schedule",
			"Times that passed during the pause are not fired; see: perdure schedules backfill",
			"  perdure schedules resume nightly --reason \"the warehouse is open\"", ops.ResumeSchedule),
		a.tellCommand("schedule", "delete NAME", "deleted", "Delete a schedule", "Runs that it started continue.",
			"  perdure schedules delete nightly --reason \"the report is no longer read\"", ops.DeleteSchedule),
	)
	return cmd
}

// withSchedule opens the database for a command about one schedule.
func (a *app) withSchedule(ctx context.Context, name string, f func(e *perdure.Engine) error) error {
	return a.withNamed(ctx, "schedule", name, f)
}

// scheduleBy adds the flags that say who changes a schedule and why.
func (a *app) scheduleBy(cmd *cobra.Command) func() []ops.Option {
	var who person
	who.addFlags(cmd)
	return func() []ops.Option { return []ops.Option{ops.By(a.user(who)), ops.Why(who.why)} }
}

// scheduleOnce adds these flags, and the one for the idempotency key.
func (a *app) scheduleOnce(cmd *cobra.Command) func() []ops.ControlOption {
	who, once := a.scheduleBy(cmd), onceFlag(cmd)
	return func() (options []ops.ControlOption) {
		for _, o := range who() {
			options = append(options, o)
		}
		return append(options, once()...)
	}
}

// onceFlag adds the flag for the idempotency key.
func onceFlag(cmd *cobra.Command) func() []ops.ControlOption {
	key := cmd.Flags().String("request", "", "idempotency `key` of this request: repeating it does nothing")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("request") && *key == "" {
			return usage("Leave --request out, or give the request a key.", "The --request is empty.")
		}
		return nil
	}
	return func() []ops.ControlOption {
		if *key == "" {
			return nil
		}
		return []ops.ControlOption{ops.RequestID(*key)}
	}
}

func (a *app) createScheduleCommand() *cobra.Command {
	var spec schedule.Spec
	cmd := &cobra.Command{
		Use:   "create NAME WORKFLOW|FILE [JSON]",
		Short: "Create a schedule, or change it",
		Long: `Create a schedule that starts a workflow with an input, at the times of a cron
expression or at an interval. The input is JSON; without one it is null, and with - it is
read from standard input. A schedule of that name is replaced.

A name that ends in .flow is a flow file. Its text is stored with the schedule; after a
change of the file, run "perdure schedules update NAME FILE". An engine that runs flow
files fires it: perdure flow serve, or a program with package flow.

A fire starts the workflow ID NAME/TIME, with the nominal time in UTC. A cron expression
has five fields (minute, hour, day of month, month, day of week) in the time zone of
--zone. When the clock is set back, the first of a repeated hour counts; when it is set
forward, a time that is skipped fires at the change.`,
		Example: `  perdure schedules create nightly report --cron "30 2 * * *" --zone Europe/Paris --jitter 5m
  perdure schedules create nightly nightly.flow --cron "30 2 * * *" --input '{"day": "today"}'
  perdure schedules create sweep sweep '{"limit": 100}' --every 15m --overlap buffer_one`,
		Args: arguments,
	}
	specFlags(cmd, &spec)
	overlap := overlapFlag(cmd, "a fire", " (default skip)")
	var run runFlags
	run.add(cmd.Flags())
	actions := otherActions(cmd)
	given := inputFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		spec.Overlap = cmp.Or(schedule.Overlap(*overlap), spec.Overlap)
		if err := checkSchedule(spec); err != nil {
			return err
		}
		input := "null"
		if len(args) == 3 {
			input = args[2]
		}
		input, err := given(input, len(args) == 3)
		if err != nil {
			return err
		}
		workflow, input, err := a.scheduled(args[1], input, *actions)
		if err != nil {
			return err
		}
		return a.createSchedule(cmd.Context(), args[0], workflow, input, run, spec)
	}
	return cmd
}

// otherActions adds the flag for the actions of flow files that only other programs have.
func otherActions(cmd *cobra.Command) *[]string {
	return cmd.Flags().StringSlice("action", nil, "of a flow file: `name` of an action that the program has which runs it; several with commas")
}

// scheduled returns the workflow and the input that a schedule starts: the given ones, or
// the interpreter with a flow file.
func (a *app) scheduled(workflow, input string, actions []string) (name, text string, err error) {
	if !strings.HasSuffix(workflow, flowEnding) {
		if len(actions) > 0 {
			return "", "", usage("Leave --action out.", "%q is not a flow file, and only those have actions.", workflow)
		}
		return workflow, input, nil
	}
	if input == "null" {
		input = ""
	}
	a.creates = true
	program, err := a.flowStart(workflow, input, actions)
	if err != nil {
		return "", "", err
	}
	data, err := json.Marshal(program)
	return flow.Workflow.Name(), string(data), err
}

func (a *app) updateScheduleCommand() *cobra.Command {
	var spec schedule.Spec
	cmd := &cobra.Command{
		Use:   "update NAME [WORKFLOW|FILE [JSON]]",
		Short: "Change what a schedule starts, or when",
		Long: `Change a schedule: the workflow or flow file that it starts, its input, or its times.
What is not given stays, except --priority, --attribute and the timeouts, which are set
as given. Open runs go on unchanged.

The command reads the schedule as "perdure schedules show" does. While no engine serves
the group, an earlier change does not show yet: repeat it together with the new one.`,
		Example: `  perdure schedules update nightly nightly.flow
  perdure schedules update nightly --cron "0 4 * * *"
  perdure schedules update nightly nightly.flow '{"service": "http://warehouse-2"}'`,
		Args:              arguments,
		ValidArgsFunction: a.completeArgument(scheduleNames),
	}
	specFlags(cmd, &spec)
	overlap := overlapFlag(cmd, "a fire", "")
	var run runFlags
	run.add(cmd.Flags())
	actions := otherActions(cmd)
	given := inputFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		input, err := given("", len(args) == 3)
		if err != nil {
			return err
		}
		if input != "" && len(args) != 2 {
			return usage("Name it: perdure schedules update NAME WORKFLOW|FILE --input JSON", "A new input needs the workflow or the file, too.")
		}
		if input != "" {
			args = append(args, input)
		}
		var old *view.Schedule
		err = a.withSchedule(cmd.Context(), args[0], func(e *perdure.Engine) (err error) {
			old, err = ops.DescribeSchedule(cmd.Context(), e, args[0])
			return err
		})
		if err != nil {
			return err
		}
		spec.Overlap = cmp.Or(schedule.Overlap(*overlap), spec.Overlap)
		if !cmd.Flags().Changed("spec") { // which sets all fields
			spec = changedSpec(cmd, old.Spec, spec)
		}
		if err := checkSchedule(spec); err != nil {
			return err
		}
		workflow, input, err := a.rescheduled(old, args[1:], *actions)
		if err != nil {
			return err
		}
		if run.memo == "" && !old.Memo.Absent() {
			run.memo = string(old.Memo.JSON)
		}
		return a.createSchedule(cmd.Context(), args[0], workflow, input, run, spec)
	}
	return cmd
}

// rescheduled returns what a schedule starts after an update. A flow file keeps the
// previous input, unless another one is given.
func (a *app) rescheduled(old *view.Schedule, args, actions []string) (workflow, input string, err error) {
	switch len(args) {
	case 0:
		return old.Workflow, string(old.Input.JSON), nil
	case 2:
		return a.scheduled(args[0], args[1], actions)
	}
	input = "null"
	var program flow.Program
	switch isFlow := strings.HasSuffix(args[0], flowEnding); {
	case isFlow && old.Workflow == flow.Workflow.Name() && json.Unmarshal(old.Input.JSON, &program) == nil && len(program.Input) > 0:
		input = string(program.Input)
	case !isFlow && old.Workflow == args[0]:
		input = string(old.Input.JSON)
	}
	return a.scheduled(args[0], input, actions)
}

func (a *app) createSchedule(ctx context.Context, name, workflow, text string, run runFlags, spec schedule.Spec) error {
	input, err := a.jsonValue("input of the workflow", text)
	if err != nil {
		return err
	}
	var file flow.Program
	if workflow == flow.Workflow.Name() && json.Unmarshal(input, &file) == nil {
		run.attrs = append(run.attrs, fileAttribute(file.Name)...)
	}
	options, err := run.options(a)
	if err != nil {
		return err
	}
	times, err := spec.Times()
	if err != nil {
		return err
	}
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		if err := perdure.Schedule(ctx, e, name, named(workflow), input, spec, options...); err != nil {
			return err
		}
		warning, _ := ops.Unregistered(ctx, e, "workflow", workflow) // the schedule is set, warning or not
		next := times.Upcoming(a.env.Now(), 3)
		if a.format != formatTable {
			return a.document(createdSchedule{name, workflow, spec, next, warning})
		}
		defer a.warn(warning)
		a.printf("Schedule %s starts workflow %s. Next times:\n", name, workflow)
		for _, at := range next {
			a.printf("  %s (%s)\n", human.Time(at), human.When(at, a.env.Now()))
		}
		return nil
	})
}

// createdSchedule is the result for programs.
type createdSchedule struct {
	Name     string        `json:"name"`
	Workflow string        `json:"workflow"`
	Spec     schedule.Spec `json:"spec"`
	Next     []time.Time   `json:"next"`
	Warning  string        `json:"warning,omitempty"`
}

func (a *app) triggerScheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trigger NAME",
		Short: "Fire a schedule now",
		Long:  "Fire a schedule now, even if it is paused, and print the workflow ID. If a run is open,\n--overlap or the schedule says what happens.",
		Example: `  perdure schedules trigger nightly
  perdure schedules trigger nightly --overlap allow_all --reason "the last report was cut off"`,
		Args:              arguments,
		ValidArgsFunction: a.completeArgument(scheduleNames),
	}
	who := a.scheduleOnce(cmd)
	overlap := overlapFlag(cmd, "the fire", "")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return a.withSchedule(cmd.Context(), args[0], func(e *perdure.Engine) error {
			id, err := ops.TriggerSchedule(cmd.Context(), e, args[0], schedule.Overlap(*overlap), who()...)
			if err != nil {
				return err
			}
			if a.format != formatTable {
				return a.document(map[string]string{"name": args[0], "workflow_id": id})
			}
			a.printf("Schedule %s fires. See the workflow: %s\n", args[0], a.sameDatabase("perdure show "+term.Quote(id)))
			return nil
		})
	}
	return cmd
}

func (a *app) backfillScheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "backfill NAME --from TIME --until TIME",
		Short: "Fire past times of a schedule",
		Long: `Fire the times of a schedule from one moment to another, both included and both in the
past, such as 2026-11-22T08:00:00Z. A time that was fired before is not fired again.
Unless --overlap says otherwise, the runs follow each other.`,
		Example: `  perdure schedules backfill nightly --from 2026-11-01T00:00:00Z --until 2026-11-20T00:00:00Z`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("Usage: "+cmd.UseLine(), "One NAME is needed, not %d.", len(args))
			}
			return nil
		},
	}
	who := a.scheduleOnce(cmd)
	overlap := overlapFlag(cmd, "a fire", " (default buffer_all)")
	from := cmd.Flags().String("from", "", "first `time`")
	until := cmd.Flags().String("until", "", "last `time`")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var bounds [2]time.Time
		for i, text := range []string{*from, *until} {
			var err error
			if bounds[i], err = time.Parse(time.RFC3339, text); err != nil {
				return usage("Write a time as 2026-11-22T08:00:00Z.", "%q is not a time for --%s.", text, []string{"from", "until"}[i])
			}
		}
		return a.withSchedule(cmd.Context(), args[0], func(e *perdure.Engine) error {
			n, err := ops.BackfillSchedule(cmd.Context(), e, args[0], bounds[0], bounds[1], schedule.Overlap(*overlap), who()...)
			if err != nil {
				return err
			}
			if a.format != formatTable {
				return a.document(map[string]any{"name": args[0], "times": n})
			}
			a.printf("Schedule %s fires %s.\n", args[0], human.Plural(n, "past time", "past times"))
			return nil
		})
	}
	return cmd
}

func (a *app) schedules(ctx context.Context) error {
	return a.withEngine(ctx, func(e *perdure.Engine) error {
		all, err := ops.Schedules(ctx, e)
		if err != nil {
			return err
		}
		return listing(a, all, "There are no schedules. Create one: perdure schedules create --help", a.scheduleTable)
	})
}

func (a *app) scheduleTable(all []view.Schedule) error {
	table := a.table("SCHEDULE", "TIMES", "WORKFLOW", "NEXT", "OPEN", "LAST")
	table.Right(4)
	for i := range all {
		s := &all[i]
		table.Row(s.Name, wording.Times(s.Spec), s.Workflow, a.nextOf(s), human.Count(len(s.Open)), lastOf(s))
	}
	return table.Write(a.out)
}

func (a *app) nextOf(s *view.Schedule) term.Painted {
	switch {
	case s.Paused != nil:
		return term.Painted{Text: "paused", Colour: term.Busy}
	case s.Problem != "":
		return term.Painted{Text: "has a problem", Colour: term.Bad}
	case len(s.Next) == 0:
		return term.Painted{Text: "never"}
	}
	return term.Painted{Text: human.Until(s.Next[0].Due, a.env.Now())}
}

func lastOf(s *view.Schedule) term.Painted {
	if len(s.Recent) == 0 {
		return term.Painted{}
	}
	return term.Painted{Text: s.Recent[0].Status, Colour: statusColours[s.Recent[0].Status]}
}

func (a *app) showScheduleCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show where a schedule stands",
		Long: "Show when a schedule fires, what it starts, its open runs, and how the last 20 ended.",
		Example: `  perdure schedules show nightly
  perdure schedules show nightly -o json`,
		Args:              arguments,
		ValidArgsFunction: a.completeArgument(scheduleNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSchedule(cmd.Context(), args[0], func(e *perdure.Engine) error {
				s, err := ops.DescribeSchedule(cmd.Context(), e, args[0])
				if err != nil {
					return err
				}
				if a.format != formatTable {
					return a.document(s)
				}
				return a.showSchedule(s)
			})
		},
	}
}

func (a *app) showSchedule(s *view.Schedule) error {
	now := a.env.Now()
	a.printf("%s  %s\n\n", s.Name, s.Workflow)
	facts := a.table()
	facts.Indent = "  "
	fact := func(name, text string) {
		if text != "" {
			facts.Row(term.Painted{Text: name, Colour: term.Faint}, text)
		}
	}
	fact("times", wording.Times(s.Spec))
	fact("input", s.Input.String())
	if !s.Memo.Absent() {
		fact("memo", s.Memo.String())
	}
	fact("overlap", string(s.Spec.Overlap))
	if s.Spec.Jitter > 0 {
		fact("jitter", human.Exact(s.Spec.Jitter))
	}
	fact("catch-up", human.Exact(s.Spec.CatchUp))
	if s.Paused != nil {
		fact("paused", "since "+human.Time(s.Paused.Since)+wording.Person(s.Paused.By, s.Paused.Why))
	}
	fact("problem", s.Problem)
	for i, next := range s.Next {
		fact([]string{"next", "then"}[min(i, 1)], human.Time(next.Due)+" ("+human.When(next.Due, now)+")")
	}
	fact("counts", fmt.Sprintf("%d started, %d skipped, %d missed", s.Started, s.Skipped, s.Missed))
	if err := facts.Write(a.out); err != nil {
		return err
	}
	if len(s.Open)+len(s.Waiting)+len(s.Recent) == 0 {
		return nil
	}
	a.printf("\n")
	table := a.table("FIRE", "STATE", "SINCE", "NOTE")
	for _, f := range s.Waiting {
		table.Row(f.WorkflowID, "waits", human.Time(f.Since), noteOf(f))
	}
	for i := len(s.Open) - 1; i >= 0; i-- {
		f := s.Open[i]
		table.Row(f.WorkflowID, term.Painted{Text: "open", Colour: statusColours["running"]}, human.Time(f.Since), noteOf(f))
	}
	for _, f := range s.Recent {
		table.Row(f.WorkflowID, term.Painted{Text: f.Status, Colour: statusColours[f.Status]}, human.Time(*f.Closed), noteOf(f))
	}
	return table.Write(a.out)
}

// noteOf returns a remark about a fire.
func noteOf(f view.Fire) string {
	text := f.Error
	if f.Kind != "" {
		text = f.Kind + wording.Person(f.By, f.Why)
		if f.Error != "" {
			text += "; " + f.Error
		}
	}
	return text
}
