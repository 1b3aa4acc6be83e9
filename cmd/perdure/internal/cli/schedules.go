package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/internal/wording"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/schedule"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func schedulesCommand(scr *screen, db *source) *cobra.Command {
	cmd := listOf(scr, db, &listing.Schedules, scheduleTable)
	cmd.AddCommand(createScheduleCommand(scr, db), updateScheduleCommand(scr, db), showScheduleCommand(scr, db))
	cmd.AddCommand(tabled(scr, db, command.Schedule)...)
	return cmd
}

func createScheduleCommand(scr *screen, db *source) *cobra.Command {
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
	}
	flags := scheduleFlags(scr, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		input := "null"
		if len(args) == 3 {
			input = args[2]
		}
		input, err := flags.input(input, len(args) == 3)
		if err != nil {
			return err
		}
		workflow, input, err := scheduled(scr, db, args[1], input, *flags.actions)
		if err != nil {
			return err
		}
		return flags.set(scr, db, cmd, args[0], workflow, input, command.ScheduleSetting{})
	}
	return cmd
}

// scheduleSetting are the flags that say what a schedule starts, and when.
type scheduleSetting struct {
	spec    schedule.Spec // before the other flags
	given   command.ScheduleSetting
	actions *[]string
	input   func(argument string, given bool) (string, error)
}

func scheduleFlags(scr *screen, cmd *cobra.Command) *scheduleSetting {
	f := &scheduleSetting{}
	cmd.Flags().Func("spec", "begin with this `object`, as \"perdure schedules show NAME -o json\" has it; other flags change it", f.readSpec)
	addParams(scr, cmd, &f.given, "")
	f.actions, f.input = otherActions(cmd), inputFlag(cmd.Flags())
	return f
}

// otherActions adds the flag for the actions of flow files that only other programs have.
func otherActions(cmd *cobra.Command) *[]string {
	return cmd.Flags().StringSlice("action", nil, "of a flow file: `name` of an action that the program has which runs it; several with commas")
}

// scheduled returns the workflow and the input that a schedule starts: the given ones, or
// the interpreter with a flow file.
func scheduled(scr *screen, db *source, workflow, input string, actions []string) (name, text string, err error) {
	if !strings.HasSuffix(workflow, view.FlowEnding) {
		if len(actions) > 0 {
			return "", "", usage("Leave --action out.", "%q is not a flow file, and only those have actions.", workflow)
		}
		return workflow, input, nil
	}
	if input == "null" {
		input = ""
	}
	db.creates = true
	program, err := flowStart(scr, workflow, input, actions)
	if err != nil {
		return "", "", err
	}
	data, err := json.Marshal(program)
	return flow.Workflow.Name(), string(data), err
}

func updateScheduleCommand(scr *screen, db *source) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update NAME [WORKFLOW|FILE [JSON]]",
		Short: "Change what a schedule starts, or when",
		Long: `Change a schedule: the workflow or flow file that it starts, its input, or its times.
What is not given stays. Open runs continue unchanged.

If somebody else changes the schedule between the time at which the command reads it and
that at which it sets it, nothing is changed.`,
		Example: `  perdure schedules update nightly nightly.flow
  perdure schedules update nightly --cron "0 4 * * *"
  perdure schedules update nightly nightly.flow '{"service": "http://warehouse-2"}'`,
		ValidArgsFunction: db.completeArgument(scheduleNames),
	}
	flags := scheduleFlags(scr, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		input, err := flags.input("", len(args) == 3)
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
		err = db.withNamed(cmd.Context(), "schedule", args[0], func(e *perdure.Engine) (err error) {
			old, err = ops.DescribeSchedule(cmd.Context(), e, args[0])
			return err
		})
		if err != nil {
			return err
		}
		now, unread := command.SettingOf(old)
		for _, wrong := range unread {
			if given := len(args) == 3; wrong.Param == "memo" && !cmd.Flags().Changed("memo") || wrong.Param == "input" && !given {
				return wrongParam(&now, wrong)
			}
		}
		workflow, input, err := rescheduled(scr, db, old, args[1:], *flags.actions)
		if err != nil {
			return err
		}
		return flags.set(scr, db, cmd, args[0], workflow, input, now)
	}
	return cmd
}

// rescheduled returns what a schedule starts after an update. A flow file keeps the
// previous input, unless another one is given.
func rescheduled(scr *screen, db *source, old *view.Schedule, args, actions []string) (workflow, input string, err error) {
	switch len(args) {
	case 0:
		return old.Workflow, string(old.Input.JSON), nil
	case 2:
		return scheduled(scr, db, args[0], args[1], actions)
	}
	input = "null"
	var program flow.Program
	switch isFlow := strings.HasSuffix(args[0], view.FlowEnding); {
	case isFlow && old.Workflow == flow.Workflow.Name() && json.Unmarshal(old.Input.JSON, &program) == nil && len(program.Input) > 0:
		input = string(program.Input)
	case !isFlow && old.Workflow == args[0]:
		input = string(old.Input.JSON)
	}
	return scheduled(scr, db, args[0], input, actions)
}

// set creates a schedule, or sets what it does: what it did, with what the flags say over that.
func (f *scheduleSetting) set(scr *screen, db *source, cmd *cobra.Command, name, workflow, input string, set command.ScheduleSetting) (err error) {
	changed := cmd.Flags().Changed
	if set.Workflow = workflow; changed("spec") {
		set.Firing = command.Firing(f.spec)
	}
	if set.Input, err = scr.jsonValue("input of the workflow", input); err != nil {
		return err
	}
	switch { // one takes the place of the other
	case changed("cron"):
		set.Every, set.Offset = 0, 0
	case changed("every"):
		set.Cron, set.TimeZone = "", ""
	}
	for _, p := range param.Of(reflect.TypeFor[command.ScheduleSetting]()) {
		if p.Arg == "" && changed(p.Flag) {
			p.Copy(&f.given, &set)
		}
	}
	var file flow.Program
	if set.Workflow == flow.Workflow.Name() && json.Unmarshal(set.Input, &file) == nil {
		nameFile(&set.RunSettings, file.Name)
	}
	if err := schedule.Spec(set.Firing).Validate(); err != nil {
		return usage("See: perdure schedules create --help", "%s", human.Sentence(scheduleWords.Replace(err.Error())))
	}
	return carryOut(scr, db, cmd.Context(), &use{Command: command.Find(command.Schedule, "set"), params: &set}, name)
}

// scheduleWords replaces the field names of a schedule by the flags.
var scheduleWords = strings.NewReplacer("schedule: ", "", "Cron", "--cron", "TimeZone", "--zone", "Every", "--every",
	"Offset", "--offset", "Jitter", "--jitter", "CatchUp", "--catch-up", "Overlap", "--overlap")

// readSpec reads a schedule's spec in JSON.
func (f *scheduleSetting) readSpec(text string) error {
	const form = "see its form: perdure schedules show NAME -o json"
	err := json.Unmarshal([]byte(text), &f.spec)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return param.Bad("spec", form, "is not a spec: %s is a %s", cmp.Or(wrong.Field, "it"), wrong.Value)
	}
	if err != nil {
		return param.Bad("spec", form, "is not a spec: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func scheduleTable(scr *screen, all []view.Schedule) {
	table := scr.table("SCHEDULE", "TIMES", "WORKFLOW", "NEXT", "\tOPEN", "LAST")
	for i := range all {
		s := &all[i]
		table.Row(s.Name, wording.Times(s.Spec), s.Workflow, nextOf(scr, s), human.Count(len(s.Open)), lastOf(s))
	}
	table.Write(scr.out)
}

func nextOf(scr *screen, s *view.Schedule) term.Painted {
	switch {
	case s.Paused != nil:
		return term.Painted{Text: "paused", Colour: term.Busy}
	case s.Problem != "":
		return term.Painted{Text: "has a problem", Colour: term.Bad}
	case len(s.Next) == 0:
		return term.Painted{Text: "never"}
	}
	return term.Painted{Text: human.Until(s.Next[0].Due, scr.env.Now())}
}

func lastOf(s *view.Schedule) term.Painted {
	if len(s.Recent) == 0 {
		return term.Painted{}
	}
	return status(s.Recent[0].Status)
}

func showScheduleCommand(scr *screen, db *source) *cobra.Command {
	return showNamed(scr, db, command.Schedule, &cobra.Command{
		Short: "Show where a schedule stands",
		Long:  "Show when a schedule fires, what it starts, its open runs, and how the last 20 ended.",
		Example: `  perdure schedules show nightly
  perdure schedules show nightly -o json`,
	}, ops.DescribeSchedule, func(s *view.Schedule) { showSchedule(scr, s) })
}

func showSchedule(scr *screen, s *view.Schedule) {
	now := scr.env.Now()
	scr.printf("%s  %s\n\n", s.Name, s.Workflow)
	facts, fact := scr.facts()
	scr.tell(facts, wording.ScheduleFacts(s))
	fact("input", s.Input.String())
	if !s.Memo.Absent() {
		fact("memo", s.Memo.String())
	}
	if s.Paused != nil {
		fact("paused", "since "+human.Time(s.Paused.Since)+wording.Person(s.Paused.By, s.Paused.Why))
	}
	fact("problem", s.Problem)
	for i, next := range s.Next {
		fact([]string{"next", "then"}[min(i, 1)], human.Time(next.Due)+" ("+human.When(next.Due, now)+")")
	}
	facts.Write(scr.out)
	if len(s.Open)+len(s.Waiting)+len(s.Recent) == 0 {
		return
	}
	scr.printf("\n")
	table := scr.table("FIRE", "STATE", "SINCE", "NOTE")
	for _, f := range s.Waiting {
		table.Row(f.WorkflowID, "waits", human.Time(f.Since), noteOf(f))
	}
	for i := len(s.Open) - 1; i >= 0; i-- {
		f := s.Open[i]
		table.Row(f.WorkflowID, term.Painted{Text: "open", Colour: colourOf("running")}, human.Time(f.Since), noteOf(f))
	}
	for _, f := range s.Recent {
		table.Row(f.WorkflowID, status(f.Status), human.Time(*f.Closed), noteOf(f))
	}
	table.Write(scr.out)
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
