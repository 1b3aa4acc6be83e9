package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/shop"
)

// directory is where a demo keeps everything.
type directory string

// Names of its files. The database has a few more beside it.
const (
	databaseName = "demo.db"
	bookName     = "book.jsonl"
	ordersName   = "orders.jsonl"
	stateName    = "demo.json"
	lockName     = "demo.lock"
	serviceLock  = "service.lock"
	serviceLog   = "service.log"
)

// logs are the names of the logs of worker processes.
var logs = regexp.MustCompile(`^worker(-[0-9]+)?\.log$`)

func (d directory) file(name string) string { return filepath.Join(string(d), name) }
func (d directory) database() string        { return d.file(databaseName) }
func (d directory) book() string            { return d.file(bookName) }

// state says how far a demo is.
type state struct {
	Input    string        `json:"input"`  // name of the order file
	Digest   string        `json:"orders"` // of the orders that are good
	Kills    int           `json:"kills"`
	Active   time.Duration `json:"active_ns"` // how long it has been at work, over all starts
	Finished bool          `json:"finished"`

	// Server is the PostgreSQL database, and Schema the schema of the demo's own
	// in it, if it is not in a file of the directory.
	Server string `json:"server,omitempty"`
	Schema string `json:"schema,omitempty"`

	before *state // of the demo that --fresh forgets
}

// DirectoryError says that a demo cannot use its directory as it is, and what to
// do about it.
type DirectoryError struct{ What, Hint string }

func (e *DirectoryError) Error() string { return e.What }

// prepare makes the directory ready for these orders and this database: anew, or as
// it was left. The lock keeps other demos out until it is released.
func (d directory) prepare(in input, db database.Name, fresh bool) (*state, *lock, error) {
	if err := d.claimable(); err != nil {
		return nil, nil, err
	}
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return nil, nil, fmt.Errorf("the directory of the demo cannot be made: %w", err)
	}
	l, err := acquire(d.file(lockName))
	if errors.Is(err, errLocked) {
		return nil, nil, &DirectoryError{
			What: fmt.Sprintf("Another perdure demo is at work in %s.", d),
			Hint: "Wait until it is done, or name another directory with --dir.",
		}
	}
	if err != nil {
		return nil, nil, err
	}
	s, err := d.open(in, db, fresh)
	if err != nil {
		l.release()
		return nil, nil, err
	}
	return s, l, nil
}

// claimable refuses a directory in which there is something else: --fresh would
// delete files that a demo did not make.
func (d directory) claimable() error {
	entries, err := os.ReadDir(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the directory of the demo cannot be read: %w", err)
	}
	for _, e := range entries {
		if !d.ours(e.Name()) {
			return &DirectoryError{
				What: fmt.Sprintf("The directory %s is not one of the demo: it holds %s.", d, filepath.Join(string(d), e.Name())),
				Hint: "Name another directory with --dir; it is made if it does not exist.",
			}
		}
	}
	return nil
}

// ours reports whether a demo makes files of this name.
func (d directory) ours(name string) bool {
	switch name {
	case bookName, ordersName, stateName, stateName + ".new", lockName, serviceLock, serviceLog:
		return true
	}
	if logs.MatchString(name) {
		return true
	}
	// Beside the database lie a write-ahead log, shared memory and a lock.
	return name == databaseName || strings.HasPrefix(name, databaseName+"-") || strings.HasPrefix(name, databaseName+".")
}

func (d directory) open(in input, db database.Name, fresh bool) (*state, error) {
	var before *state
	if fresh {
		before, _ = d.load() // if it cannot be read it is forgotten all the same
		if err := d.clear(); err != nil {
			return nil, err
		}
	}
	s, err := d.load()
	if err != nil {
		return nil, err
	}
	digest, encoded := encodeOrders(in.orders)
	if s == nil {
		// The state is written last: without it there is no demo yet.
		if err := d.clear(); err != nil {
			return nil, err
		}
		if err := os.WriteFile(d.file(ordersName), encoded, 0o644); err != nil {
			return nil, fmt.Errorf("the orders cannot be kept: %w", err)
		}
		s = &state{Input: in.name, Digest: digest, before: before}
		s.settle(db)
		return s, d.save(s)
	}
	if s.Digest != digest {
		return nil, &DirectoryError{
			What: fmt.Sprintf("The demo in %s was begun with other orders (%s).", d, s.Input),
			Hint: "Go on with those, begin anew with --fresh, or name another directory with --dir.",
		}
	}
	return s, d.sameDatabase(s, db)
}

// clear removes what demos made.
func (d directory) clear() error {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return fmt.Errorf("the directory of the demo cannot be read: %w", err)
	}
	// The state goes first, so that a half-cleared directory is none of a demo.
	if err := os.Remove(d.file(stateName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the old demo cannot be removed: %w", err)
	}
	for _, e := range entries {
		if e.Name() == stateName || e.Name() == lockName || e.Name() == serviceLock || !d.ours(e.Name()) {
			continue
		}
		if err := os.Remove(d.file(e.Name())); err != nil {
			return fmt.Errorf("the old demo cannot be removed: %w", err)
		}
	}
	return nil
}

// load reads the state; nil if there is none.
func (d directory) load() (*state, error) {
	text, err := os.ReadFile(d.file(stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the state of the demo cannot be read: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(text, s); err != nil || s.Digest == "" {
		return nil, &DirectoryError{
			What: fmt.Sprintf("%s is damaged: it does not say how far the demo is.", d.file(stateName)),
			Hint: "Begin anew with --fresh.",
		}
	}
	return s, nil
}

// save writes the state, whole or not at all.
func (d directory) save(s *state) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := d.file(stateName)
	if err = os.WriteFile(path+".new", append(text, '\n'), 0o644); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("the state of the demo cannot be kept: %w", err)
	}
	return nil
}

// orders reads the orders back that prepare kept.
func (d directory) orders() ([]shop.Order, error) {
	file, err := os.Open(d.file(ordersName))
	if err != nil {
		return nil, fmt.Errorf("the orders of the demo cannot be read: %w", err)
	}
	defer file.Close()
	orders, faults, err := shop.ReadOrders(file, ordersName)
	if err == nil && len(faults) > 0 {
		err = fmt.Errorf("the orders of the demo are damaged: %s", faults[0])
	}
	return orders, err
}

// encodeOrders writes orders as one object a line.
func encodeOrders(orders []shop.Order) (digest string, text []byte) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	for _, o := range orders {
		_ = enc.Encode(o) // strings and numbers only: cannot fail
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:]), b.Bytes()
}

// input is an order file, read.
type input struct {
	name   string
	orders []shop.Order
	faults []shop.Fault
}

// InputError says that an order file cannot be used.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns what the reader said.
func (e *InputError) Unwrap() error { return e.Err }

// readInput reads the order file, or without a path the one that comes along.
func readInput(path string) (input, error) {
	in := input{name: "the sample orders that come with perdure"}
	var err error
	if path == "" {
		in.orders, in.faults, err = shop.ReadOrders(bytes.NewBufferString(shop.SampleOrders), "orders.csv")
	} else {
		in.name = path
		var file *os.File
		file, err = os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return in, &InputError{fmt.Errorf("There is no order file %s.", path)}
		}
		if err != nil {
			return in, &InputError{fmt.Errorf("The order file cannot be opened: %w", err)}
		}
		defer file.Close()
		in.orders, in.faults, err = shop.ReadOrders(file, path)
	}
	if err != nil {
		return in, &InputError{err}
	}
	if len(in.orders) == 0 {
		err := fmt.Errorf("The order file %s holds no order that can be used.", in.name)
		if len(in.faults) > 0 {
			err = fmt.Errorf("%w The first fault is in %s", err, in.faults[0])
		}
		return in, &InputError{err}
	}
	return in, nil
}
