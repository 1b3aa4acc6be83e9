package cli

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/store"
	"github.com/spf13/cobra"
)

// migrateFlags say what to do with a schema.
type migrateFlags struct {
	print, check bool
	distribute   bool
	partitions   int
	grant        string
}

func migrateCommand(scr *screen, db *source) *cobra.Command {
	var f migrateFlags
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema of the database up to date",
		Long: `Bring the schema of the database to the version that this perdure uses, and create it if
there is none. Engines do so by themselves when they open a database, unless
perdure.NoMigrate says otherwise or their user has no right to.

--print prints the statements instead of running them, for psql or sqlite3. --check says
whether something is due, and changes nothing. An engine of an earlier version continues
beside a newer schema, and does not open it again once it has stopped: migrate before the
first newer engine starts, and do not go back afterwards.

On PostgreSQL --grant gives a role the rights that engines need, and no right to change
tables; it belongs to each run, as migrations may make tables. It may be combined with
--print.

With --distribute the tables of runs are distributed, by partition, over the workers of the
Citus cluster whose coordinator the URL names; so are those of a database that holds runs,
while no engine runs on it. There is no way back but a backup.

The exit code of --check is 7 if a migration is due.`,
		Example: `  perdure migrate --db shop.db
  perdure migrate --check --db postgres://owner@db.example/shop
  perdure migrate --print --grant shop_app --db postgres://owner@db.example/shop | psql -1 -v ON_ERROR_STOP=1
  perdure migrate --distribute --print --db postgres://owner@coordinator.example/shop
  perdure migrate --grant shop_app --db 'postgres://owner@db.example/shop?schema=tenant_7'`,
		Annotations: map[string]string{noGroup: "All groups of a database share its schema."},
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, err := db.database()
			if err != nil {
				return err
			}
			if err := f.wrong(name); err != nil {
				return err
			}
			return migrate(scr, cmd.Context(), name, f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.print, "print", false, "print the statements that are due, and change nothing")
	flags.BoolVar(&f.check, "check", false, "say whether a migration is due, and change nothing")
	number(flags, &f.partitions, "partitions", 1, math.MaxInt32, "Use a number from 1.", "`number` of partitions of a new PostgreSQL database (default 256)")
	flags.BoolVar(&f.distribute, "distribute", false, "distribute the tables over the workers of a Citus cluster")
	flags.StringVar(&f.grant, "grant", "", "`role` of a PostgreSQL server that engines are to use")
	return cmd
}

func (f *migrateFlags) wrong(name database.Name) error {
	switch {
	case f.print && f.check:
		return usage("Give one of them.", "--print and --check exclude each other.")
	case f.check && f.grant != "":
		return usage("Leave one of them out.", "--check changes nothing, so there is nothing to --grant.")
	case !name.Shared() && f.partitions != 0:
		return usage("Leave --partitions out.", "An SQLite file has one partition.")
	case !name.Shared() && f.distribute:
		return usage("Leave --distribute out, or name the coordinator of a Citus cluster.", "An SQLite file is on one machine.")
	case !name.Shared() && f.grant != "":
		return usage("Leave --grant out: who may write the file may use it.", "An SQLite file has no roles.")
	}
	return nil
}

func migrate(scr *screen, ctx context.Context, name database.Name, f migrateFlags) error {
	if err := name.Reach(ctx); err != nil {
		return err
	}
	opener := name.Migrator(f.partitions, f.distribute)
	schema, err := opener.Schema(ctx)
	if err != nil {
		return err
	}
	due := schema.Due
	if f.grant != "" {
		due = append(due, name.Grants(f.grant))
	}
	switch {
	case f.print:
		return printSchema(scr, schema, due)
	case f.check:
		return checkSchema(scr, schema)
	}
	if len(schema.Due) > 0 {
		db, err := opener.Open(ctx)
		if err != nil {
			return err
		}
		if err := db.Close(); err != nil {
			return err
		}
	}
	if f.grant != "" {
		if err := name.Run(ctx, name.Grants(f.grant).SQL); err != nil {
			return err
		}
	}
	return scr.show(schemaDocument(schema, due), func() {
		switch {
		case len(schema.Due) == 0:
			scr.printf("The schema is up to date: version %d.\n", schema.Version)
		case schema.Version == 0:
			scr.printf("Created the schema, version %d: %s\n", schema.Wanted, schema.Location)
		case schema.Version == schema.Wanted:
			scr.printf("Distributed the tables over the workers: %s\n", schema.Location)
		default:
			scr.printf("Migrated the schema from version %d to %d: %s\n", schema.Version, schema.Wanted, schema.Location)
		}
		if f.grant != "" {
			scr.printf("The role %s can run engines.\n", human.ShellWord(f.grant))
		}
	})
}

// printSchema prints the outstanding changes as a script.
func printSchema(scr *screen, s store.Schema, due []store.Script) error {
	if scr.format != formatTable {
		return scr.document(schemaDocument(s, due))
	}
	if len(due) == 0 {
		scr.printf("-- The schema is up to date: version %d. Nothing is due.\n", s.Version)
		return nil
	}
	scr.printf("-- %s\n-- from version %d to %d. All of it is one transaction.\nBEGIN;\n", strings.Join(human.Lines(s.Location), " "), s.Version, s.Wanted)
	for _, d := range due {
		scr.printf("\n-- %s\n", d.Name)
		for line := range strings.Lines(strings.TrimSpace(d.SQL)) {
			scr.printf("%s\n", strings.TrimSuffix(line, "\n"))
		}
	}
	scr.printf("\nCOMMIT;\n")
	return nil
}

// checkSchema says what is outstanding. The exit code is 7 if anything is.
func checkSchema(scr *screen, s store.Schema) error {
	return scr.judge(schemaDocument(s, s.Due), len(s.Due) == 0, "A migration is due.", func() {
		switch {
		case len(s.Due) == 0:
			scr.printf("%s\n", term.Painted{Text: fmt.Sprintf("The schema is up to date: version %d.", s.Version), Colour: term.Good})
		case s.Version == 0:
			scr.printf("%s\nTo create it: perdure migrate\n", term.Painted{Text: "There is no schema of perdure yet.", Colour: term.Bad})
		case s.Version == s.Wanted:
			scr.printf("%s\nTo distribute them: perdure migrate --distribute\nTo see the statements: perdure migrate --distribute --print\n",
				term.Painted{Text: "The tables are not distributed.", Colour: term.Bad})
		default:
			scr.printf("%s\nTo migrate it: perdure migrate\nTo see the statements: perdure migrate --print\n",
				term.Painted{Text: fmt.Sprintf("The schema is version %d, and this perdure uses version %d.", s.Version, s.Wanted), Colour: term.Bad})
		}
	})
}

// schemaDocument returns a schema as JSON.
func schemaDocument(s store.Schema, due []store.Script) any {
	type script struct {
		Name string `json:"name"`
		SQL  string `json:"sql"`
	}
	doc := struct {
		Location string   `json:"location"`
		Version  int      `json:"version"`
		Wanted   int      `json:"wanted"`
		OK       bool     `json:"ok"` // nothing is outstanding
		Due      []script `json:"due"`
	}{s.Location, s.Version, s.Wanted, len(s.Due) == 0, []script{}}
	for _, d := range due {
		doc.Due = append(doc.Due, script(d))
	}
	return doc
}
