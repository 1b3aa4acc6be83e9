package demo

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/internal/filelock"
	"github.com/perdure/perdure/internal/human"
)

// directory is where a demo keeps everything.
type directory string

// Names of its files.
const (
	databaseName = "demo.db"
	bookName     = "book.jsonl"
	stateName    = "demo.json"
	lockName     = "demo.lock"
)

// ours are the names of the files that a demo makes. Beside the database lie a
// write-ahead log, shared memory and a lock.
var ours = regexp.MustCompile(`^(demo\.db([-.].*)?|book\.jsonl|demo\.json(\.new)?|demo\.lock|worker(-[0-9]+)?\.log)$`)

func (d directory) file(name string) string { return filepath.Join(string(d), name) }

// state says how far a demo is.
type state struct {
	Orders   int           `json:"orders"`
	Kills    int           `json:"kills"`
	Active   time.Duration `json:"active_ns"` // how long it has been at work, over all starts
	Finished bool          `json:"finished"`

	// Server is the PostgreSQL database, and Schema the schema of the demo's own in
	// it: its orders have the same IDs each time, and what belongs to others is not
	// touched. Both are empty if the database is a file of the directory.
	Server string `json:"server,omitempty"`
	Schema string `json:"schema,omitempty"`

	before *state // of the demo that --fresh forgets
}

// open makes the directory ready: new, or as it was left. Other demos are kept out
// until release is called, or the process dies.
func (d directory) open(opt Options) (s *state, release func(), err error) {
	entries, err := os.ReadDir(string(d))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("the directory of the demo cannot be read: %w", err)
	}
	for _, e := range entries {
		if !ours.MatchString(e.Name()) { // --fresh must not delete what a demo did not make
			return nil, nil, &Error{
				What: fmt.Sprintf("The directory %s is not a demo's: it holds %s.", d, d.file(e.Name())),
				Hint: "Name another directory with --dir; it is created if it does not exist.",
			}
		}
	}
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return nil, nil, fmt.Errorf("the directory of the demo cannot be created: %w", err)
	}
	lock, err := os.OpenFile(d.file(lockName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("the directory of the demo cannot be used: %w", err)
	}
	release = func() { lock.Close() }
	free, err := filelock.TryLock(lock)
	if err == nil && !free {
		err = &Error{
			What: fmt.Sprintf("Another perdure demo is running in %s.", d),
			Hint: "Wait until it is done, or name another directory with --dir.",
		}
	}
	if err == nil {
		s, err = d.prepare(opt)
	}
	if err != nil {
		release()
		return nil, nil, err
	}
	return s, release, nil
}

// prepare reads the state, or begins a demo.
func (d directory) prepare(opt Options) (*state, error) {
	s, err := d.load()
	if err != nil && !opt.Fresh {
		return nil, err
	}
	if s != nil && !opt.Fresh {
		return s, d.matches(s, opt)
	}
	begun := &state{Orders: opt.Orders, before: s}
	if opt.Database.Shared() {
		var random [4]byte
		_, _ = rand.Read(random[:]) // never fails
		begun.Server, begun.Schema = opt.Database.String(), "perdure_demo_"+hex.EncodeToString(random[:])
	}
	// The state goes first and comes last, so that a directory that is half cleared
	// or half prepared is a new one.
	entries, err := os.ReadDir(string(d))
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == stateName }) {
		err = os.Remove(d.file(stateName))
	}
	for _, e := range entries {
		if e.Name() != stateName && e.Name() != lockName {
			err = errors.Join(err, os.Remove(d.file(e.Name())))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the old demo cannot be removed: %w", err)
	}
	return begun, d.save(begun)
}

// matches refuses to continue with other orders, or in another database, than the demo
// was begun with.
func (d directory) matches(s *state, opt Options) error {
	server := ""
	if opt.Database.Shared() {
		server = opt.Database.String()
	}
	with, flag := "", ""
	switch {
	case s.Orders != opt.Orders:
		with, flag = "with "+human.Plural(s.Orders, "order", "orders"), fmt.Sprintf("--orders %d", s.Orders)
	case s.Server == server:
		return nil
	case s.Server == "":
		with, flag = "in an SQLite file", "without --db"
	default:
		with, flag = "in the database "+s.Server, "--db "+human.ShellWord(s.Server)
	}
	return &Error{
		What: fmt.Sprintf("The demo in %s was begun %s.", d, with),
		Hint: fmt.Sprintf("Go on with it (%s), begin again with --fresh, or name another directory with --dir.", flag),
	}
}

// load reads the state; nil if there is none.
func (d directory) load() (*state, error) {
	text, err := os.ReadFile(d.file(stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s := &state{}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil || s.Orders == 0 {
		return nil, &Error{What: fmt.Sprintf("%s does not say how far the demo is.", d.file(stateName)), Hint: "Begin again with --fresh."}
	}
	return s, nil
}

// save writes the state, whole or not at all.
func (d directory) save(s *state) error {
	text, err := json.MarshalIndent(s, "", "  ")
	path := d.file(stateName)
	if err == nil {
		err = os.WriteFile(path+".new", append(text, '\n'), 0o644)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("the state of the demo cannot be saved: %w", err)
	}
	return nil
}

// database is where the demo keeps its runs.
func (d directory) database(s *state, server database.Name) database.Name {
	if server.Shared() {
		return server.InSchema(s.Schema)
	}
	return database.File(d.file(databaseName))
}

// stillThere refuses to continue if what was done so far has been removed: a new database
// would be reported as one that lost it.
func (d *demo) stillThere(ctx context.Context) error {
	if d.state.Active == 0 {
		return nil
	}
	err := d.db.Find(ctx, "")
	if gone, ok := errors.AsType[*database.Error](err); ok {
		return &Error{
			What: fmt.Sprintf("What the demo in %s has done so far is no longer there. %s", d.dir, gone.What),
			Hint: "Begin again with --fresh.",
		}
	}
	return err
}

// dropping is how to remove the schema of a demo; empty if it has none.
func (s *state) dropping() string {
	if s.Schema == "" {
		return ""
	}
	return fmt.Sprintf("psql %s -c 'DROP SCHEMA %s CASCADE'", human.ShellWord(s.Server), s.Schema)
}
