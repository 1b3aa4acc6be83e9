package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/copying"
	"github.com/perdure/perdure/view"
	"github.com/spf13/cobra"
)

func exportCommand(scr *screen, db *source) *cobra.Command {
	opt := listOptions{limit: 100}
	var redact bool
	cmd := &cobra.Command{
		Use:   "export [ID...]",
		Short: "Write workflows into a file, for tests, archives and bug reports",
		Long: `Write workflows to the standard output, one JSON document a line: history, calls, attempts
and messages. Name them by ID, which takes all runs of a chain, or select them as with
perdure list. The format is in docs/moving.md.

perduretest.Replay reads the file, so a run of production becomes a test; perdure import
brings the workflows into another database. Payloads go as they are stored: what a codec
has encrypted stays encrypted. --redact drops payloads and the words of errors and people.`,
		Example: `  perdure export order-17 >testdata/order-17.jsonl
  perdure export --type checkout --status completed --until 2026-01-01 --limit 0 >2025.jsonl
  perdure export order-17 --redact >for-the-report.jsonl`,
		RunE: func(cmd *cobra.Command, ids []string) error {
			filter, err := opt.filter()
			if err != nil {
				return err
			}
			return exportRuns(scr, db, cmd.Context(), ids, filter, opt.limit, redact)
		},
	}
	addParams(scr, cmd, &opt.Runs, "")
	addParams(scr, cmd, &opt.ByCalls, "")
	limited(cmd.Flags(), &opt.limit, "at most this `number`; 0 for all")
	cmd.Flags().BoolVar(&redact, "redact", false, "drop payloads and the words of errors and people")
	return cmd
}

// exportRuns writes workflows: those with the IDs, or if there are none those that the filter
// selects. Rows are read as they are stored; only the selection passes through codecs.
func exportRuns(scr *screen, db *source, ctx context.Context, ids []string, filter view.Filter, limit int, redact bool) error {
	name, err := db.database()
	if err != nil {
		return err
	}
	return db.withEngine(ctx, func(e *perdure.Engine) (err error) {
		rows, err := store.AsIs(name.Opener()).Open(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		group, _ := db.group()
		write := func(runs []view.Run) error {
			for _, r := range runs {
				whole, err := copying.Read(ctx, rows, group, r.WorkflowID, r.RunID)
				var line bytes.Buffer
				if err == nil {
					err = copying.Write(&line, whole, redact)
				}
				if err != nil {
					return err
				}
				if scr.stdout.Known() {
					scr.json(line.Bytes()) // what people look at must not command their terminal
				} else {
					scr.out.Write(line.Bytes())
				}
			}
			return nil
		}
		if len(ids) == 0 {
			runs, more, err := selectRuns(scr, ctx, e, filter, limit)
			if err != nil {
				return err
			}
			if more {
				scr.notef("There are more workflows. Set a higher --limit.\n")
			}
			return write(runs)
		}
		for _, id := range ids {
			filter.IDPrefix = id
			runs, _, err := selectRuns(scr, ctx, e, filter, 0)
			if err != nil {
				return err
			}
			own := slices.DeleteFunc(runs, func(r view.Run) bool { return r.WorkflowID != id })
			if len(own) == 0 {
				return failure(exitNotFound, "See which ones there are: "+db.sameDatabase("perdure list"), "There is no workflow %q in %s.", id, db.place(e))
			}
			if err := write(own); err != nil {
				return err
			}
		}
		return nil
	})
}

func importCommand(scr *screen, db *source) *cobra.Command {
	var open bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Read workflows from a file that perdure export wrote",
		Long: `Read workflows from a file that perdure export wrote, or from the standard input (-), into
a database that no engine uses. A new SQLite file is made. Runs that are there already stay
as they are, so the command can be repeated.

An engine continues with runs that are open, beside the database from which they came: the
command refuses them without --open.`,
		Example: `  perdure import order-17.jsonl --db lab.db
  perdure export --limit 0 | perdure import - --db archive.db`,
		Annotations: map[string]string{noGroup: "The file says to which group a run belongs."},
		RunE: func(cmd *cobra.Command, args []string) error {
			return importRuns(scr, db, cmd.Context(), args[0], open)
		},
	}
	cmd.Flags().BoolVar(&open, "open", false, "import runs that are open, too")
	return cmd
}

func importRuns(scr *screen, db *source, ctx context.Context, path string, open bool) (err error) {
	name, err := db.database()
	if err != nil {
		return err
	}
	var from io.Reader = scr.env.Stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return usage("Name a file that perdure export wrote, or - for the standard input.", "%s", human.Sentence(err.Error()))
		}
		defer file.Close()
		from = file
	}
	all, err := copying.Parse(from)
	if err != nil {
		return failure(exitError, "", "%s", human.Sentence(err.Error()))
	}
	if ids := copying.Open(all); len(ids) > 0 && !open {
		return failure(exitError, "To import them, add --open. Their effects happen again unless they ended where they come from.",
			"%s of the file would continue in this database: %s.", human.Plural(len(ids), "open run", "open runs"), strings.Join(ids[:min(len(ids), 3)], ", "))
	}
	to, err := openTarget(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	added, err := copying.Import(ctx, to, path, all, scr.env.Now().UnixNano())
	if err != nil {
		return copyError(err)
	}
	if scr.format != formatTable {
		return scr.document(struct {
			Imported int `json:"imported"`
			Known    int `json:"known"` // that were there already
		}{added, len(all) - added})
	}
	scr.printf("Imported %s", human.Plural(added, "run", "runs"))
	if known := len(all) - added; known > 0 {
		scr.printf("; %d known already", known)
	}
	scr.printf(".\n")
	return nil
}
