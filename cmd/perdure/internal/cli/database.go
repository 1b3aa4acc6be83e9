package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/ops"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

const (
	defaultDatabase = "perdure.db"
	databaseVar     = "PERDURE_DB"
	groupVar        = "PERDURE_GROUP"
	codecVar        = "PERDURE_CODEC"
)

// database returns the database that the flag or the environment names.
func (db *source) database() (database.Name, error) {
	text, from := db.named, "--db"
	if text == "" {
		text, from = db.scr.env.Getenv(databaseVar), databaseVar
	}
	if text == "" {
		return database.File(defaultDatabase), nil
	}
	return parseDatabase(from, text)
}

func parseDatabase(from, text string) (database.Name, error) {
	name, err := database.Parse(text)
	if wrong, ok := errors.AsType[*database.NameError](err); ok {
		hint := wrong.Hint
		if strings.HasPrefix(from, "--") {
			hint = strings.ReplaceAll(hint, "--db", from)
		}
		return name, usage(hint, "%s is %s: %s", from, wrong.Name, wrong.Why)
	}
	return name, err
}

// group returns the group of nodes that the flag or the environment names, and whether one
// of them does. The flag may name the group with the empty name.
func (db *source) group() (name string, given bool) {
	if db.groupFlag.Changed {
		return db.groupFlag.Value.String(), true
	}
	name = db.scr.env.Getenv(groupVar)
	return name, name != ""
}

// longestNode is the maximum length of a client's name.
const longestNode = 200

// open opens the database as a client. It does not create one: a misspelled name must not
// become an empty database. Nor does it migrate one: a read by a newer command would lock
// out the engines that serve it.
func (db *source) open(ctx context.Context, options ...perdure.Option) (*perdure.Engine, error) {
	name, err := db.database()
	if err != nil {
		return nil, err
	}
	group, _ := db.group()
	options = append(options, perdure.Logger(slog.New(slog.DiscardHandler)))
	switch err := name.Find(ctx, group); {
	case err == nil:
		options = append(options, perdure.NoMigrate())
	case !db.creates || name.Shared():
		return nil, err
	default:
		if err := name.Reach(ctx); err != nil {
			return nil, err
		}
		db.scr.notef("There was no database %s; it is made. To run what is in it: %s\n", name, db.sameDatabase("perdure flow serve"))
	}
	if who := whoAsks(db.scr, ""); len(who) <= longestNode && utf8.ValidString(who) { // operations without --by are attributed to the node
		options = append(options, perdure.NodeName(who))
	}
	return db.engine(ctx, name, options...)
}

// engine opens a database for the group, with the codecs in the file that the flag or the environment
// names.
func (db *source) engine(ctx context.Context, name database.Name, options ...perdure.Option) (*perdure.Engine, error) {
	var opener store.Opener = name.Opener()
	if path := cmp.Or(db.codec, db.scr.env.Getenv(codecVar)); path != "" {
		codecs, err := codec.File(path)
		if err != nil {
			return nil, usage("The file has a form of its own "+see.Decoding+". Without --codec and PERDURE_CODEC, what is encrypted is shown as such.", "%s", human.Sentence(err.Error()))
		}
		opener = codec.Over(opener, codecs...)
	}
	group, _ := db.group()
	return perdure.Open(ctx, opener, append(options, perdure.Group(group))...)
}

// withRun opens the database for a command about one workflow.
func (db *source) withRun(ctx context.Context, id string, f func(e *perdure.Engine) error) error {
	return db.withEngine(ctx, func(e *perdure.Engine) error { return db.ofRun(ctx, e, id, f(e)) })
}

// ofRun says which workflow does not exist, or has ended.
func (db *source) ofRun(ctx context.Context, e *perdure.Engine, id string, err error) error {
	switch {
	case errors.Is(err, perdure.ErrNotFound):
		what := fmt.Sprintf("There is no workflow %q in %s.", id, db.place(e))
		if isActivity(ctx, e, id) {
			what += fmt.Sprintf(" It is the name of an activity, as in --activity %s.", human.ShellWord(id))
		}
		return failure(exitNotFound, "See which ones there are: "+db.sameDatabase("perdure list"), "%s", what)
	case errors.Is(err, perdure.ErrClosed):
		return failure(exitError, "See how it ended: "+db.sameDatabase("perdure show", id),
			"Workflow %q has ended.", id)
	}
	return err
}

// isActivity reports whether a node is known that has an activity of this name.
func isActivity(ctx context.Context, e *perdure.Engine, name string) bool {
	nodes, _ := ops.Nodes(ctx, e) // without them the error says less
	return slices.ContainsFunc(nodes, func(n view.Node) bool { return slices.Contains(n.Activities, name) })
}

// inGroup names the group, if it has a name, for the end of a sentence.
func (db *source) inGroup() string {
	if name, _ := db.group(); name != "" {
		return fmt.Sprintf(" in the group %q", name)
	}
	return ""
}

// place describes where workflows were looked for.
func (db *source) place(e *perdure.Engine) string {
	if name, _ := db.group(); name != "" {
		return fmt.Sprintf("the group %q of %s", name, e.Location())
	}
	return e.Location()
}

// withEngine runs f with the database open.
func (db *source) withEngine(ctx context.Context, f func(e *perdure.Engine) error, options ...perdure.Option) error {
	e, err := db.open(ctx, options...)
	if err != nil {
		return err
	}
	once := func() error { return f(e) }
	if db.every == 0 {
		return errors.Join(once(), e.Close())
	}
	return errors.Join(db.scr.again(ctx, db.every, once), e.Close())
}
