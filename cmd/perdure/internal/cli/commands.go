package cli

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/command"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/internal/param"
	"github.com/perdure/perdure/retry"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

// tabled returns the commands of the table that are done to one thing. Those that make one are
// written out, because they take files.
func tabled(scr *screen, db *source, on ...command.On) (all []*cobra.Command) {
	for _, c := range command.Single(on...) {
		if c.Makes == "" {
			all = append(all, ofTable(scr, db, c))
		}
	}
	return all
}

// targets are the arguments that name what commands are done to, and where their names come from.
var targets = map[command.On]struct {
	argument string
	names    namesFrom
}{
	command.Gate: {"NAME", gateNames}, command.Schedule: {"NAME", scheduleNames}, command.Runs: {"ID", nil}, command.Calls: {"ID", nil},
}

// ofTable makes the command of a row of the table.
func ofTable(scr *screen, db *source, c *command.Command) *cobra.Command {
	u := &use{Command: c, params: c.New(), names: true}
	cmd := u.cobra(scr)
	if names := targets[c.On].names; names != nil {
		cmd.ValidArgsFunction = db.completeArgument(names)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := ""
		if targets[c.On].argument != "" {
			name, args = args[0], args[1:]
		}
		if err := u.arguments(scr, args); err != nil {
			return err
		}
		return carryOut(scr, db, cmd.Context(), u, name)
	}
	return cmd
}

// use is one use of a command of the table.
type use struct {
	*command.Command
	params any
	names  bool // the usage names what it is done to
	by     string
	key    string

	explain func(e *perdure.Engine, err error) error // says of an error what is more than it; may be nil
}

// cobra makes a command with the parameters as flags.
func (u *use) cobra(scr *screen) *cobra.Command {
	words := []string{u.Name, targets[u.On].argument}
	if !u.names {
		words = []string{u.Name}
	}
	for _, p := range u.Takes() {
		words = append(words, p.Arg)
	}
	cmd := &cobra.Command{
		Use: strings.Join(strings.Fields(strings.Join(words, " ")), " "), Short: u.Short, Example: u.Example,
		Long: u.Short + ".\n\n" + strings.TrimSpace(strings.Join(wrap(u.Means, 88), "\n")+"\n\n"+u.More),
	}
	u.flags(scr, cmd)
	return cmd
}

// flags adds the parameters as flags, and those that all commands of the table share.
func (u *use) flags(scr *screen, cmd *cobra.Command) {
	addParams(scr, cmd, u.params, "")
	if u.Reasoned() {
		cmd.Flags().StringVar(&u.by, "by", "", "`who` does it (default $PERDURE_BY, else the user of the operating system)")
	}
	if u.NoKey {
		return
	}
	flag, means := "request", "idempotency `key` of this request: repeating it does nothing"
	if u.KeyedFor != "" {
		flag, means = "id", "idempotency `key` of the "+u.Name
	}
	cmd.Flags().StringVar(&u.key, flag, "", means)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed(flag) && u.key == "" {
			return usage("Leave --"+flag+" out, or give the request a key.", "The --%s is empty.", flag)
		}
		return nil
	}
}

// arguments reads the parameters that are arguments.
func (u *use) arguments(scr *screen, args []string) error {
	for _, p := range u.Takes() {
		if p.Arg == "" || len(args) == 0 {
			continue
		}
		text, err := scr.textValue(p.Plain(), args[0])
		if err == nil {
			err = p.Set(u.params, text)
		}
		if err != nil {
			return wrongParam(u.params, err)
		}
		args = args[1:]
	}
	return nil
}

// ask is the use as the table wants it.
func (u *use) ask(ctx context.Context, scr *screen, e *perdure.Engine, name string) *command.Ask {
	return &command.Ask{Ctx: ctx, Engine: e, Name: name, By: whoAsks(scr, u.by), Request: u.key, Now: scr.env.Now()}
}

// carryOut does a command to what has a name, and shows what it comes to.
func carryOut(scr *screen, db *source, ctx context.Context, u *use, name string) error {
	return db.withTarget(ctx, u, name, func(e *perdure.Engine) error {
		result, effect, err := u.Do(u.ask(ctx, scr, e, name), u.params)
		switch {
		case err != nil && u.explain != nil:
			return u.explain(e, err)
		case err != nil:
			return err
		}
		defer scr.warn(effect.Warning)
		if scr.format != formatTable {
			return scr.document(result)
		}
		showEffect(scr, &effect)
		switch see := u.see(name); {
		case command.DryOf(u.params).DryRun:
			scr.printf("\nNothing was changed: this is a dry run.\n")
		case effect.Same:
		case effect.Answer != nil:
			scr.printf("%s\n", string(effect.Answer))
		case effect.Run != "":
			scr.printf("%s To see its progress: %s\n", effect.Done, db.sameDatabase("perdure show", effect.Run))
		case effect.Done != "":
			scr.printf("%s\n", effect.Done)
		case u.Did != "":
			scr.printf("The %s %s is %s%s as soon as an engine sees this.\n", u.On, name, u.Did, db.inGroup())
		default:
			scr.printf("\nThis is so as soon as an engine%s sees it. To see it: %s\n", db.inGroup(), db.sameDatabase("perdure "+see))
		}
		return nil
	})
}

// see is the command line that shows what a command was done to.
func (u *use) see(name string) string {
	if u.On == command.Gate || u.On == command.Schedule {
		return string(u.On) + "s show " + human.ShellWord(name)
	}
	return string(u.On)
}

// showEffect shows what a command comes to.
func showEffect(scr *screen, e *command.Effect) {
	for _, d := range e.Diff {
		if d.Means == "" && len(d.Before)+len(d.After) < 80 {
			scr.printf("%s %s -> %s\n", d.What, d.Before, d.After)
			continue
		}
		scr.printf("%s:\n  - %s\n  + %s\n", d.What, d.Before, d.After)
		if d.Means != "" {
			scr.printf("  %s\n\n", d.Means)
		}
	}
	for _, s := range e.Says {
		scr.printf("%s\n", s)
	}
}

// withTarget opens the database for a command of the table, and says what is missing if its
// target is.
func (db *source) withTarget(ctx context.Context, u *use, name string, f func(e *perdure.Engine) error) error {
	if wait, waits := command.WaitOf(u.params); waits {
		if err := checkWait(wait); err != nil {
			return err
		}
		ask := f
		f = func(e *perdure.Engine) error { return db.unanswered(ctx, ask(e), wait) }
	}
	var err error
	switch u.On {
	case command.Gate, command.Schedule:
		err = db.withNamed(ctx, string(u.On), name, f)
	case command.Runs, command.Calls:
		err = db.withRun(ctx, name, f)
	case command.Token:
		err = db.withToken(ctx, f)
	default:
		err = db.withEngine(ctx, f)
	}
	err = wrongParam(u.params, err)
	if changed, ok := errors.AsType[*view.ChangedError](err); ok {
		return failure(exitError, "See how it is now: "+db.sameDatabase("perdure "+u.see(name)), "%s", human.Sentence(changed.Error()))
	}
	if refused, ok := errors.AsType[*view.InputError](err); ok && u.On == command.Gate {
		return failure(exitError, "See how the gate stands: "+db.sameDatabase("perdure "+u.see(name)), "%s", human.Sentence(refused.Error()))
	}
	return err
}

// withToken opens the database for a command about an attempt outside the engine.
func (db *source) withToken(ctx context.Context, f func(e *perdure.Engine) error) error {
	err := db.withEngine(ctx, f)
	switch {
	case errors.Is(err, perdure.ErrInvalidToken):
		return usage("Check that it is complete, and --db.", "The token is not of an attempt in this database.")
	case errors.Is(err, perdure.ErrStaleToken):
		_, rest, _ := strings.Cut(err.Error(), perdure.ErrStaleToken.Error())
		return failure(exitError, "A later attempt has another token.", "The attempt is over%s.", rest)
	case errors.Is(err, perdure.ErrNotFound):
		return failure(exitNotFound, "", "The workflow of this attempt no longer exists.")
	}
	return err
}

// withNamed opens the database for a command about one gate or schedule.
func (db *source) withNamed(ctx context.Context, kind, name string, f func(e *perdure.Engine) error) error {
	return db.withEngine(ctx, func(e *perdure.Engine) error {
		err := f(e)
		if !errors.Is(err, perdure.ErrNotFound) {
			return err
		}
		hint := "See which ones there are: " + db.sameDatabase("perdure "+kind+"s")
		known := names{}
		if err := targets[command.On(kind)].names(ctx, e, known); err == nil {
			hint = strings.TrimPrefix(near.Hint(name, maps.Keys(known))+" "+hint, " ")
		}
		if kind == "gate" {
			hint += " (a gate appears when the first call comes to it)"
		}
		return failure(exitNotFound, hint, "There is no %s %q in %s.", kind, name, db.place(e))
	})
}

// wrongParam names a parameter that cannot be used as the command line does.
func wrongParam(params any, err error) error {
	if _, is := errors.AsType[*retry.NotationError](err); is {
		return notPolicy(param.Find(reflect.TypeOf(params).Elem(), "policy").Text(params), err)
	}
	w, is := errors.AsType[*param.Wrong](err)
	if !is {
		return err
	}
	var flags []string
	for _, word := range strings.Fields(w.Param) { // there may be several: rate, budget or breaker
		name := strings.ReplaceAll(strings.TrimSuffix(word, ","), "_", "-")
		if p := param.Find(reflect.TypeOf(params).Elem(), name); p != nil && p.Arg == "" {
			flags = append(flags, "--"+p.Flag)
		}
	}
	switch last := len(flags) - 1; {
	case last < 0:
		return wrongValue("The "+w.Param, w)
	case last > 0:
		return wrongValue(strings.Join(flags[:last], ", ")+" or "+flags[last], w)
	}
	return wrongValue(flags[0], w)
}

// wrongValue says what is wrong with what has a name.
func wrongValue(name string, w *param.Wrong) error {
	remedy := w.Remedy
	switch {
	case strings.HasPrefix(w.Problem, "must be JSON"):
		remedy = `a text needs double quotes inside single quotes: '"like this"'`
	case remedy == "":
		return usage("", "%s", human.Sentence(name+" "+w.Problem))
	}
	return usage(human.Sentence(remedy), "%s", human.Sentence(name+" "+w.Problem))
}

// warn prints a warning, which is a clause or empty, beside the output.
func (scr *screen) warn(warning string) {
	if warning != "" {
		scr.notef("%s %s\n", term.Painted{Text: "perdure: warning:", Colour: term.Bad}, human.Sentence(warning))
	}
}
