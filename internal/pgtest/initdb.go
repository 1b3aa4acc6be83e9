package pgtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// initialize makes the files of a new server. initdb takes five times as long as copying what
// it made, so the first test binary leaves a copy in the user's cache directory for the others.
func (c *Cluster) initialize() error {
	args := []string{"--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions"}
	copied, err := cached(filepath.Join(c.bin, "initdb"), args)
	if err == nil && c.copyFrom(copied) == nil {
		return nil
	}
	if err := os.RemoveAll(c.data()); err != nil { // half a copy
		return err
	}
	if _, err := c.run(nil, "initdb", append([]string{"--pgdata", c.data()}, args...)...); err != nil {
		return err
	}
	if copied != "" {
		_ = keep(c.data(), copied) // without it the next one runs initdb again
	}
	return nil
}

// cached names the directory of the copy that this initdb leaves with these arguments.
func cached(program string, args []string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(program)
	if err != nil {
		return "", err
	}
	of := sha256.Sum256(fmt.Append(nil, program, info.Size(), info.ModTime(), args))
	return filepath.Join(dir, "perdure", fmt.Sprintf("initdb-%x", of[:8])), nil
}

// copyFrom copies the files for the user who runs the server, who alone may enter them.
func (c *Cluster) copyFrom(copied string) error {
	if err := os.CopyFS(c.data(), os.DirFS(copied)); err != nil {
		return err
	}
	return errors.Join(os.Chmod(c.data(), 0o700), filepath.WalkDir(c.data(), func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, give(path))
	}))
}

// keep makes the copy, whole or not at all: test binaries run beside each other.
func keep(data, copied string) error {
	parent := filepath.Dir(copied)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	part, err := os.MkdirTemp(parent, "part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	if err := os.CopyFS(filepath.Join(part, "data"), os.DirFS(data)); err != nil {
		return err
	}
	return os.Rename(filepath.Join(part, "data"), copied)
}
