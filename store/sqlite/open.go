package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/see"
	"github.com/perdure/perdure/store"
	lib "modernc.org/sqlite/lib"
)

// applicationID marks perdure files in their header: "perd".
const applicationID = 0x70657264

// smallest is the size of the smallest SQLite file. SQLite treats a smaller file as empty
// and would overwrite it.
const smallest = 512

// locate returns the canonical name of a path's file: absolute and without symbolic links.
// Handles of this process find each other by it, and engines find the lock.
func locate(path string) (string, error) {
	if strings.TrimSpace(path) == "" || strings.HasPrefix(path, ":") || strings.HasPrefix(path, "file:") {
		return "", fmt.Errorf("%q is not a file path: name a file, or use the memory store", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	} else {
		return "", fmt.Errorf("%s cannot be created: its directory does not exist; create that first (%w)", path, err)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot be opened: %w", path, err)
	}
	if info.IsDir() {
		return "", fmt.Errorf("%s is a directory: name a file in it", path)
	}
	return path, nil
}

// busyTimeout is how long a statement waits for another process's lock.
const busyTimeout = time.Second

// openPatience is how long an Open waits for others that open or close the file. Recovering
// what a killed process left may take long on a busy machine.
const openPatience = 10 * time.Second

// patiently retries while another process opens or closes the file: SQLite does not wait
// for those locks by itself.
func patiently(ctx context.Context, try func() error) error {
	for began := time.Now(); ; {
		err := try()
		if code(err) != lib.SQLITE_BUSY || time.Since(began) > openPatience {
			return err
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// immutable is the mode of a connection to a file that nobody writes: without a log, and without
// the shared memory of its readers, for which a file beside it would be needed.
const immutable = "immutable"

// reading is the mode in which a file that may not be written can be read. What a process has in
// its log is seen through the memory that it shares; without a log there is no such process.
func reading(path string) string {
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return "ro"
	}
	return immutable
}

// dsn returns the driver's name for a connection. busy_timeout concerns only writers of
// other processes; writers of this one queue before.
func dsn(path, mode string, pragmas ...string) string {
	name := filepath.ToSlash(path)
	if runtime.GOOS == "windows" && !strings.HasPrefix(name, "//") {
		name = "/" + name
	}
	if runtime.GOOS == "windows" {
		name = "//" + name
	}
	query := url.Values{}
	if mode == immutable {
		mode = "ro"
		query.Set("immutable", "1")
	}
	query["mode"], query["_pragma"] = []string{mode}, append([]string{fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds())}, pragmas...)
	return "file:" + (&url.URL{Path: name}).EscapedPath() + "?" + query.Encode()
}

// inspect returns the version of a file's schema, 0 if the file is empty or does not exist.
// It refuses a foreign file, and one of a later version than known, before anything could
// change it.
func inspect(ctx context.Context, path string, known int) (version int64, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("%s cannot be opened: %w", path, err)
	}
	if info.Size() < smallest {
		return 0, fmt.Errorf("%s: %w: it is not an SQLite file", path, store.ErrForeign)
	}
	for _, mode := range []string{"ro", reading(path)} {
		var c *conn
		if c, err = connect(ctx, dsn(path, mode)); err == nil {
			// All at one moment: another process may be making the file.
			if _, err = c.exec("BEGIN"); err == nil {
				version, _, err = identify(c, path, known)
			}
			err = errors.Join(err, c.close())
		}
		err = explain(path, err)
		if _, is := errors.AsType[*unwritableError](err); !is {
			break
		}
	}
	return version, err
}

// identify reads whose file it is and its schema version; empty means a file without
// tables. It returns an error for a foreign file, and for one of a later version than known.
func identify(c *conn, path string, known int) (version int64, empty bool, err error) {
	var owner, tables int64
	for _, q := range []struct {
		query string
		dest  *int64
	}{
		{"PRAGMA application_id", &owner},
		{"PRAGMA user_version", &version},
		{"SELECT count(*) FROM sqlite_schema", &tables},
	} {
		if _, err := c.one(q.query, []*int64{q.dest}); err != nil {
			return 0, false, err
		}
	}
	switch {
	case owner == 0 && tables == 0 && version == 0:
		return 0, true, nil
	case owner != applicationID:
		return 0, false, fmt.Errorf("%s: %w: it is an SQLite file of another program", path, store.ErrForeign)
	case version > int64(known):
		return 0, false, fmt.Errorf("%s: %w: its schema is version %d and this program knows versions up to %d; use a later program %s", path, store.ErrNewer, version, known, see.Schema)
	}
	return version, false, nil
}

// create creates the file if it does not exist, in WAL mode.
func create(ctx context.Context, path string) error {
	c, err := connect(ctx, dsn(path, "rwc"))
	if err != nil {
		return explain(path, err)
	}
	defer c.close()
	// SQLite opens a file read-only if it cannot be written, and reports that only at the
	// first write.
	readOnly, err := c.raw.(interface {
		IsReadOnly(schema string) (bool, error)
	}).IsReadOnly("main")
	if err != nil {
		return explain(path, err)
	}
	if readOnly {
		return unwritable(path, fs.ErrPermission)
	}
	mode := ""
	err = c.query(ctx, "PRAGMA journal_mode = wal", func(r row) error {
		mode = r.text(0)
		return nil
	})
	if err != nil {
		if code(err) == lib.SQLITE_BUSY {
			return &store.UnavailableError{Op: "Open", Err: fmt.Errorf("%s: %w", path, err), Undone: true}
		}
		return explain(path, err)
	}
	if mode != "wal" {
		return fmt.Errorf("%s cannot be put into WAL mode (it is in mode %q): its file system may lack shared memory or locks; use a local disk %s", path, mode, see.SQLite)
	}
	return nil
}

// settle makes a file whole that nothing else has open: SQLite's last connection writes the
// log back into the file and deletes it. A connection that may only read leaves the log, and
// so does one that was closed before it read or wrote. If settle fails, the next process to
// open the file does the same.
func settle(path string) {
	if _, err := os.Stat(path + "-wal"); err != nil {
		return
	}
	c, err := connect(context.Background(), dsn(path, "rw"))
	if err != nil {
		return
	}
	defer c.close()
	var version int64
	_, _ = c.one("PRAGMA user_version", []*int64{&version}) // opens the log
}
