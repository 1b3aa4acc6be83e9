package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/sqlite"
)

// refused opens a path that must be refused with an error, and words in it.
func refused(t *testing.T, path string, want error, words ...string) {
	t.Helper()
	s, err := sqlite.File(path).Open(t.Context())
	if err == nil {
		s.Close()
		t.Fatalf("%s was opened", path)
	}
	if want != nil && !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if store.Unavailable(err) {
		t.Errorf("waiting will not help: %v", err)
	}
	for _, w := range append(words, filepath.Base(path)) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error does not say %q: %v", w, err)
		}
	}
}

// snapshot reads all files of a directory.
func snapshot(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func raw(t *testing.T, path string, statements ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return db
}

func TestForeignFilesAreRefusedAndLeftUntouched(t *testing.T) {
	for name, write := range map[string]func(t *testing.T, path string){
		"Text": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("not a database\n", 1000)), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"Short": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"Rollback": func(t *testing.T, path string) {
			raw(t, path, "CREATE TABLE precious (x)", "INSERT INTO precious VALUES (1)").Close()
		},
		"WAL": func(t *testing.T, path string) {
			raw(t, path, "PRAGMA journal_mode = wal", "CREATE TABLE precious (x)", "INSERT INTO precious VALUES (1)").Close()
		},
		"Marked": func(t *testing.T, path string) {
			raw(t, path, "PRAGMA application_id = 12345").Close()
		},
		"Crashed": func(t *testing.T, path string) {
			// What a killed program leaves: a log that is not checkpointed.
			other := filepath.Join(t.TempDir(), "other.db")
			raw(t, other, "PRAGMA journal_mode = wal", "PRAGMA wal_autocheckpoint = 0", "CREATE TABLE precious (x)", "INSERT INTO precious VALUES (1)")
			for _, suffix := range []string{"", "-wal"} {
				b, err := os.ReadFile(other + suffix)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path+suffix, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "precious.db")
			write(t, path)
			before := snapshot(t, dir)
			refused(t, path, store.ErrForeign)
			after := snapshot(t, dir)
			for file, content := range before {
				if !bytes.Equal(after[file], content) {
					t.Errorf("%s was changed", filepath.Base(file))
				}
			}
		})
	}
}

func TestNewerDatabaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	if err := open(t, sqlite.File(path)).Close(); err != nil {
		t.Fatal(err)
	}
	raw(t, path, "PRAGMA user_version = 99").Close()
	refused(t, path, store.ErrNewer, "version 99", "versions up to ", "later program")
}

func TestEmptyFileBecomesADatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := open(t, sqlite.File(path)).Create(t.Context(), newRun("a")); err != nil {
		t.Error(err)
	}
}

func TestPathsThatAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	refused(t, dir, nil, "is a directory")
	refused(t, filepath.Join(dir, "missing", "test.db"), nil, "does not exist", "create")
	for _, path := range []string{"", ":memory:", "file:x.db"} {
		if _, err := sqlite.File(path).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "memory store") {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := sqlite.File(filepath.Join(dir, "a.db"), sqlite.Durability(7)).Open(t.Context()); err == nil {
		t.Error("an unknown durability was accepted")
	}
}

func TestOddFileNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"with space.db", "what?.db", "a#b.db", "100%.db", "%41.db", "ü𝄞.db", "a&b=c.db", "a+b;c.db", "it's.db"} {
		path := filepath.Join(dir, name)
		s := open(t, sqlite.File(path))
		if err := s.Create(t.Context(), newRun("a")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Errorf("the database is not in the file of its name: %v", err)
		}
		if _, err := open(t, sqlite.File(path)).Find(t.Context(), 0, "", "a"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLinksLeadToTheSameDatabase(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "test.db"), filepath.Join(dir, "link.db")
	s := open(t, sqlite.File(path))
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	other := open(t, sqlite.File(link))
	if err := s.Join(t.Context(), store.Node{ID: "one"}); err != nil {
		t.Fatal(err)
	}
	var inUse *store.InUseError
	if err := other.Join(t.Context(), store.Node{ID: "two"}); !errors.As(err, &inUse) {
		t.Errorf("got %v, want an InUseError", err)
	}
}

func TestManyOpenANewFileAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := sqlite.File(path).Open(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestUnwritableFilesAreOnlyRead(t *testing.T) {
	for name, mode := range map[string][2]os.FileMode{
		"File":      {0o444, 0o777},
		"Directory": {0o666, 0o555},
		"New":       {0, 0o555},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "perdure-readonly")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(dir, 0o755); os.RemoveAll(dir) })
			path := filepath.Join(dir, "test.db")
			if mode[0] != 0 {
				if err := open(t, sqlite.File(path)).Close(); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, mode[0]); err != nil {
					t.Fatal(err)
				}
			}
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			if os.Geteuid() == 0 { // whom no mode stops
				copied := filepath.Join(dir, "self")
				b, err := os.ReadFile(self)
				if err == nil {
					err = os.WriteFile(copied, b, 0o755)
				}
				if err != nil {
					t.Fatal(err)
				}
				self = copied
			}
			if err := os.Chmod(dir, mode[1]); err != nil {
				t.Fatal(err)
			}
			_, out := childOf(t, self, "open", path, func(cmd *exec.Cmd) { asNobody(cmd) })
			said := line(t, out)
			words := []string{"error: Post: "}
			if name == "New" {
				words = []string{"error: "} // nothing is there to be read
			}
			for _, word := range append(words, "cannot be written", "writable by this user", path) {
				if !strings.Contains(said, word) {
					t.Errorf("%q does not say %q", said, word)
				}
			}
		})
	}
}
