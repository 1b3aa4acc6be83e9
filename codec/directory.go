package codec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure/store"
)

// Directory returns Blobs that are files below a directory, which it creates if it is
// missing. A file is complete and on disk before it gets its name. The directory may be
// on a network file system that all nodes share.
func Directory(path string) (Blobs, error) {
	if path == "" {
		return nil, errors.New("codec.Directory: the path is empty; name a directory")
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("codec.Directory: %w; name a directory that the program may write to", err)
	}
	return directory(path), nil
}

type directory string

// swept begins the name of a file that is about to be removed, partly that of one that is not complete.
const (
	swept  = "swept-"
	partly = "partly-"
)

func (d directory) file(name string) (string, error) {
	if len(name) < 3 || strings.Trim(name, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is no name of a blob", name)
	}
	return filepath.Join(string(d), name[:2], name), nil
}

// soon is an error of a disk that may be full or away, not of the blob.
func soon(err error) error {
	if err == nil {
		return nil
	}
	return &store.UnavailableError{Op: "using the blobs", Err: err, Undone: true}
}

func (d directory) Put(_ context.Context, name string, data []byte) error {
	path, err := d.file(name)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return soon(err)
	}
	f, err := os.CreateTemp(dir, partly)
	if err != nil {
		return soon(err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return soon(errors.Join(err, os.Remove(f.Name())))
	}
	return soon(errors.Join(syncDir(dir), syncDir(string(d))))
}

// syncDir makes names in a directory durable, where the system can.
func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = d.Sync() // some systems have no such thing, and need none
	return d.Close()
}

func (d directory) Get(_ context.Context, name string) ([]byte, error) {
	path, err := d.file(name)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(string(d)); err != nil {
		return nil, soon(err) // not mounted
	}
	// Delete takes the name away for a moment from a file that was put again just then, and
	// may give it back after the look for the other name.
	for _, name := range []string{path, asideOf(path), path} {
		data, err := os.ReadFile(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return data, soon(err)
		}
	}
	return nil, ErrNoBlob
}

// asideOf is the name of a file that is about to be removed.
func asideOf(path string) string { return filepath.Join(filepath.Dir(path), swept+filepath.Base(path)) }

func (d directory) Names(ctx context.Context, before time.Time, f func(name string) error) error {
	return filepath.WalkDir(string(d), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		name, aside := strings.CutPrefix(e.Name(), swept)
		part := strings.HasPrefix(e.Name(), partly)
		if part {
			name = filepath.Base(filepath.Dir(path)) + "0" // as a blob of this directory
		}
		if proper, err := d.file(name); err != nil || filepath.Dir(proper) != filepath.Dir(path) {
			return nil // not a blob: the directory has files of others
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !info.ModTime().Before(before) {
			return err
		}
		switch {
		case aside: // by a process that died; it may have been put again just then
			return os.Rename(path, filepath.Join(filepath.Dir(path), name))
		case part: // so did this one
			return os.Remove(path)
		}
		return f(e.Name())
	})
}

// Delete takes the name away first: a Put at the same time is then either seen, and its
// file gets the name back, or makes a new file.
func (d directory) Delete(_ context.Context, name string, before time.Time) error {
	path, err := d.file(name)
	if err != nil {
		return err
	}
	aside := asideOf(path)
	if err := os.Rename(path, aside); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return soon(err)
	}
	info, err := os.Stat(aside)
	if err != nil {
		return soon(err)
	}
	if !info.ModTime().Before(before) {
		return soon(os.Rename(aside, path))
	}
	return soon(os.Remove(aside))
}
