package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/param"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const rootHelp = `Inspect and operate durable workflows: list them, show where each stands, which attempts
its steps took and why, and pause, retry, cancel or reset them. An engine's database can
be read whether or not the engine runs. It is an SQLite file, or a schema in a PostgreSQL
database ("perdure", unless the URL ends in ?schema=NAME).

New here? Run the demo: it takes a minute and shows what perdure does.

Exit codes:
  0    success
  1    error
  2    wrong usage
  3    the awaited run did not complete
  5    no such workflow, or no such call
  6    --wait timed out
  7    status: something needs attention; check-code: a run would stop;
       doctor, torture: something is wrong; migrate --check: a migration is due
  130  interrupted`

const rootExample = `  perdure demo
  perdure flow run nightly.flow
  perdure status
  perdure list --status running
  perdure list --retrying --db sqlite:shop.db
  perdure nodes --db postgres://shop@db.example/shop
  perdure attempts order-17
  perdure calls --more-than 3 --since 24h
  perdure show order-17 -o json`

// root returns the command with all its subcommands.
func rootCommand(scr *screen, db *source) *cobra.Command {
	root := &cobra.Command{
		Use:               "perdure",
		Short:             "Inspect and operate durable workflows",
		Long:              rootHelp,
		Example:           rootExample,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Version:           readVersion().String(), // for who types --version
		PersistentPreRunE: checkFlags,

		SuggestionsMinimumDistance: 2,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&db.named, "db", "", "`database`: FILE or postgres://USER@HOST/NAME (default $PERDURE_DB, else perdure.db here)")
	flags.StringVar(&db.codec, "codec", "", "`file` with the codecs of an encrypted database (default $PERDURE_CODEC)")
	flags.String("group", "", "`name` of the group of nodes (default $PERDURE_GROUP)")
	db.groupFlag = flags.Lookup("group")
	flags.VarP(&scr.format, "output", "o", "table for people, json or jsonl for programs")
	root.SetVersionTemplate("{{.Version}}")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		hint := "See: " + cmd.CommandPath() + " --help"
		if wrong, ok := errors.AsType[*Error](err); ok {
			return wrong
		}
		if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
			if w, ok := errors.AsType[*param.Wrong](err); ok {
				return wrongValue("--"+wrong.GetFlag().Name, w)
			}
			_, what := pflag.UnquoteUsage(wrong.GetFlag())
			return usage(hint, "%q is not a value for --%s (%s).", wrong.GetValue(), wrong.GetFlag().Name, what)
		}
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
			return unknownFlag(cmd, unknown)
		}
		return usage(hint, "%s", human.Sentence(err.Error()))
	})
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json", "jsonl"}, cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(
		demoCommand(scr, db), statusCommand(scr, db), doctorCommand(scr, db), listCommand(scr, db), showCommand(scr, db), historyCommand(scr, db), attemptsCommand(scr, db), callsCommand(scr, db), compareCommand(scr, db), statsCommand(scr, db), listOf(scr, db, &listing.WorkflowStats, workflowTable),
		flowCommand(scr, db), checkCodeCommand(scr, db), startCommand(scr, db),
		auditCommand(scr, db), migrateCommand(scr, db), copyCommand(scr), exportCommand(scr, db), importCommand(scr, db), dashboardCommand(scr, db), tortureCommand(scr, db), nodesCommand(scr, db), canaryCommand(scr, db), gatesCommand(scr, db), schedulesCommand(scr, db), policyCommand(scr, db), versionCommand(scr),
	)
	root.AddCommand(operationCommands(scr, db)...)
	root.AddCommand(tabled(scr, db, command.Runs, command.Token, command.Records)...)
	watchable(db, root, "status", "list", "show", "attempts", "workflows", "nodes", "gates", "schedules")
	byUsage(db, root)
	completeFlags(db, root)
	for _, cmd := range root.Commands() {
		cmd.SuggestFor = strings.Fields(synonyms[cmd.Name()])
	}
	inGroups(root)
	root.SetOut(scr.out) // the next two read it
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	refuseUnknown(root)
	fitHelp(scr, root)
	return root
}

// helpGroups are the headings of the help, each with its commands.
var helpGroups = []struct{ title, commands string }{
	{"Look:", "status list show history attempts calls compare stats workflows nodes gates schedules audit"},
	{"Act:", "start signal query update retry-now ask pause resume skip fail edit-policy pause-run resume-run reset move-runs canary fork cancel terminate complete fail-attempt heartbeat"},
	{"Flows and policies:", "flow policy check-code"},
	{"Administration:", "dashboard migrate copy export import gc demo torture version doctor"},
}

// inGroups puts commands under the headings of the help.
func inGroups(root *cobra.Command) {
	for _, g := range helpGroups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		names := strings.Fields(g.commands)
		for _, cmd := range root.Commands() {
			if slices.Contains(names, cmd.Name()) {
				cmd.GroupID = g.title
			}
		}
	}
}

// refuseUnknown makes the commands that cobra adds refuse unknown arguments. By default
// they print their help.
func refuseUnknown(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Args, cmd.RunE = noArguments, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
			for _, shell := range cmd.Commands() {
				shell.Args = noArguments
			}
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if found, rest, err := root.Find(args); err == nil && found != nil {
					return noArguments(found, rest)
				}
				return noArguments(root, args)
			}
		}
	}
}

// Annotations of commands that refuse a global flag; the value says why.
const (
	noDatabase = "db"
	noGroup    = "group"
)

func checkFlags(cmd *cobra.Command, _ []string) error {
	for _, flag := range []string{noDatabase, noGroup, "codec"} {
		why := cmd.Annotations[flag]
		if flag == "codec" {
			why = cmd.Annotations[noDatabase] // whose documents they are
		}
		if why != "" && cmd.Flags().Changed(flag) {
			return usage(why, "The command %q takes no --%s.", cmd.CommandPath(), flag)
		}
	}
	for _, flag := range []string{"db", "codec"} { // as in --db "$DB": what is meant is not the default
		if f := cmd.Flag(flag); f != nil && f.Changed && f.Value.String() == "" {
			return usage("Leave it out, or give it a value.", "--%s is empty.", flag)
		}
	}
	return nil
}

// noArguments is for commands without arguments, and for commands with subcommands, whose
// argument would be an unknown subcommand.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if path := cmd.CommandPath() + " "; cmd.HasSubCommands() {
		hint := "See: " + path + "--help"
		if near := meant(cmd, args[0]); len(near) > 0 {
			hint = "Did you mean: " + path + strings.Join(near, ", "+path)
		}
		return usage(hint, "There is no command %q.", strings.TrimPrefix(path, "perdure ")+args[0])
	}
	return usage("See: "+cmd.CommandPath()+" --help", "The command %q takes no arguments, and got %q.", cmd.CommandPath(), strings.Join(args, " "))
}

// givenBy annotates a command with the flag for what users pass as an argument by mistake.
const givenBy = "given by"

// byUsage gives commands what follows from their usage lines: how many arguments they take, IDs that
// the shell offers, and of those that only have others below them the help.
func byUsage(db *source, cmd *cobra.Command) {
	if names := strings.Fields(cmd.Use)[1:]; len(names) > 0 && strings.Trim(names[0], "[].") == "ID" {
		cmd.ValidArgsFunction = db.completeID
	}
	if cmd.Args == nil {
		cmd.Args = arguments
	}
	if cmd.RunE == nil {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	for _, sub := range cmd.Commands() {
		byUsage(db, sub)
	}
}

// arguments requires as many arguments as the usage line of a command names. Those in
// brackets are optional, and of what ends with dots there may be several.
func arguments(cmd *cobra.Command, args []string) error {
	names := strings.Fields(cmd.Use)[1:]
	if len(names) == 0 {
		return noArguments(cmd, args)
	}
	least := 0
	for _, n := range names {
		if !strings.HasPrefix(n, "[") {
			least++
		}
	}
	hint := "Usage: " + cmd.UseLine()
	switch {
	case len(args) < least:
		return usage(hint, "The %s is missing.", strings.TrimSuffix(names[len(args)], "..."))
	case len(args) > len(names) && !strings.Contains(names[len(names)-1], "..."):
		advice := "A text with spaces needs quotes."
		if flag := cmd.Annotations[givenBy]; flag != "" {
			advice = "Give it with --" + flag + "."
		}
		return usage(hint, "There are too many arguments, from %q on. %s", args[len(names)], advice)
	}
	return nil
}
