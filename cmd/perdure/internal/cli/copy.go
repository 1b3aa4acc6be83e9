package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/copying"
	"github.com/spf13/cobra"
)

// copyFlags say what to copy, and how.
type copyFlags struct {
	from, to       string
	dryRun, unseal bool
}

const copyExample = "perdure copy --from shop.db --to postgres://db.example/shop"

func copyCommand(scr *screen) *cobra.Command {
	var f copyFlags
	cmd := &cobra.Command{
		Use:   "copy",
		Short: "Copy a database into another one, with its open work",
		Long: `Copy everything that perdure keeps in a database into a new one: an SQLite file into a
PostgreSQL schema, or back. Open runs continue there, with their histories, timers, calls,
ledgers, messages, gates, schedules, switches and tokens. Stop all engines and workers first.
Your own tables are not copied: move them before you start engines again.

The source is closed before the first row is read: it can be read by a copy alone, and who
opens it is told where the rows went. The target cannot be used until the copy is complete
and was compared with what was written. A copy that was interrupted continues when the command
is run again. Attempts that ran when the engines died are made again (reason: copied).

--dry-run counts what would be copied and changes nothing. --unseal opens the source again,
as long as nothing has run in the target, which stays closed for good.

Payloads go as they are stored: encrypted ones stay encrypted, and offloaded ones stay where
they are. The command needs no keys.`,
		Example: `  perdure copy --from shop.db --to postgres://db.example/shop --dry-run
  perdure copy --from shop.db --to postgres://db.example/shop
  perdure copy --from postgres://db.example/shop --to shop-2.db
  perdure copy --from shop.db --to postgres://db.example/shop --unseal`,
		Annotations: map[string]string{noGroup: "All groups are copied.", noDatabase: "Name both databases with --from and --to."},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 { // which may have passwords
				return usage(copyExample, "copy takes no arguments: flags say which of the two is closed.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case f.from == "" || f.to == "":
				return usage(copyExample, "copy needs two databases: --from and --to.")
			case f.dryRun && f.unseal:
				return usage("Give one of them.", "--dry-run and --unseal exclude each other.")
			}
			return f.run(scr, cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "`database` that is copied and closed")
	flags.StringVar(&f.to, "to", "", "`database` that is new or empty")
	flags.BoolVar(&f.dryRun, "dry-run", false, "count what would be copied, and change nothing")
	flags.BoolVar(&f.unseal, "unseal", false, "open the source again, if nothing has run in the target")
	return cmd
}

func (f *copyFlags) run(scr *screen, ctx context.Context) (err error) {
	from, err := parseDatabase("--from", f.from)
	if err != nil {
		return err
	}
	to, err := parseDatabase("--to", f.to)
	if err != nil {
		return err
	}
	c := &copying.Copy{Now: scr.env.Now, Progress: progress(scr)}
	if err := from.Find(ctx, ""); err != nil {
		return ofFlag("--from", err)
	}
	if c.From, err = store.AsIs(from.Opener()).Open(ctx); err != nil {
		return ofFlag("--from", err)
	}
	defer func() { err = errors.Join(err, c.From.Close()) }()
	if f.dryRun {
		sums, err := c.Count(ctx)
		if err != nil {
			return err
		}
		return copied(scr, "Would copy", sums, nil)
	}
	if c.To, err = openTarget(ctx, to); err != nil {
		return ofFlag("--to", err)
	}
	defer func() { err = errors.Join(err, c.To.Close()) }()
	if f.unseal {
		if err := c.Undo(ctx); err != nil {
			return copyError(err)
		}
		scr.printf("Engines can use %s again. Nothing can use %s: drop it.\n", c.From.Info().Location, c.To.Info().Location)
		return nil
	}
	began := scr.env.Now()
	result, err := c.Run(ctx)
	if err != nil {
		return copyError(err)
	}
	what := "Copied"
	if result.Done {
		what = "Copied before"
	}
	if err := copied(scr, what, result.Sums, result); err != nil || scr.format != formatTable {
		return err
	}
	scr.printf("%s\nYour own tables in %s, if there are any, were not copied: move them first. Then start engines with %s.\n", term.Painted{Text: fmt.Sprintf("Verified by checksums, in %s.", human.Duration(scr.env.Now().Sub(began).Round(time.Millisecond))), Colour: term.Good}, c.From.Info().Location, to)
	return nil
}

// ofFlag lets what is said about a database that cannot be used name the flag that names it.
func ofFlag(flag string, err error) error {
	if unusable, ok := errors.AsType[*database.Error](err); ok {
		said := *unusable
		said.Hint = strings.NewReplacer(" or PERDURE_DB", "", "--db", flag).Replace(said.Hint)
		return &said
	}
	if errors.Is(err, perdure.ErrForeign) {
		return failure(exitError, "Name an engine's database with "+flag+".", "%s", human.Sentence(err.Error()))
	}
	return err
}

func openTarget(ctx context.Context, to database.Name) (store.Store, error) {
	if err := to.Reach(ctx); err != nil {
		return nil, err
	}
	return to.Opener().Open(ctx)
}

// copyError says what to do about an error of a copy.
func copyError(err error) error {
	if refused, ok := errors.AsType[*copying.RefusedError](err); ok {
		return failure(exitError, refused.Hint, "%s", refused.What)
	}
	if used, ok := errors.AsType[*store.InUseError](err); ok {
		return failure(exitError, "Stop its engines and workers, and run the command again. One on a server that was killed counts as running until its lease has expired (10 seconds by default).",
			"%s is in use: %s.", used.Location, used.Holder)
	}
	if store.Refused(err) {
		return failure(exitError, "On a server the command needs a user who owns the schema: it makes triggers that close the tables.", "%s", human.Sentence(err.Error()))
	}
	return err
}

// progress prints how far a copy is, once a second, on a terminal.
func progress(scr *screen) func(step string, runs, of int64) {
	if !scr.stderr.Moves || scr.format != formatTable {
		return nil
	}
	var step string
	var began, said time.Time
	var first int64
	return func(now string, runs, of int64) {
		at := scr.env.Now()
		if now != step {
			step, began, first = now, at, runs
		}
		if at.Sub(said) < time.Second {
			return
		}
		said = at
		left := ""
		if done := runs - first; done > 0 && runs < of {
			left = fmt.Sprintf(", about %s left", human.Duration(time.Duration(float64(at.Sub(began))*float64(of-runs)/float64(done)).Round(time.Second)))
		}
		scr.notef("%d of %s %s%s\n", runs, human.Plural(int(of), "run", "runs"), step, left)
	}
}

// copied prints what was copied.
func copied(scr *screen, what string, sums copying.Sums, result *copying.Result) error {
	if scr.format != formatTable {
		doc := struct {
			Rows     map[string]copying.Sum `json:"rows"`
			Complete bool                   `json:"complete"` // the target can be used
			Left     int64                  `json:"left"`     // rows about processes of the source, which stay behind
		}{Rows: sums, Complete: result != nil}
		if result != nil {
			doc.Left = result.Left
		}
		return scr.document(doc)
	}
	var parts []string
	for _, kind := range copying.Kinds {
		parts = append(parts, human.Plural(int(sums[kind].Rows), singular(kind), kind))
	}
	last := len(parts) - 1
	scr.printf("%s %s and %s.\n", what, strings.Join(parts[:last], ", "), parts[last])
	return nil
}

func singular(kind string) string {
	switch kind {
	case "tallies":
		return "tally"
	case "switches":
		return "switch"
	}
	return strings.TrimSuffix(kind, "s")
}
