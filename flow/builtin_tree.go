package flow

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/perdure/perdure/activity"
)

// onePath is the argument of actions on one file or directory.
type onePath struct {
	Path string `json:"path"`
}

// ownDirectory is where appends keep what they need to be repeated; it is not listed.
const ownDirectory = ".perdure"

// list returns the names in a directory, those of directories with a slash behind them.
func (f files) list(_ context.Context, in struct {
	Path string `json:"path,omitempty"`
}) (names []string, err error) {
	names = []string{}
	if in.Path == "" {
		in.Path = "."
	}
	err = f.in(func(root *os.Root) error {
		dir, err := root.Open(in.Path)
		if err != nil {
			return err
		}
		defer dir.Close()
		entries, err := dir.ReadDir(-1)
		size := 0
		for _, e := range entries {
			name := e.Name()
			if name == ownDirectory {
				continue
			}
			if e.IsDir() {
				name += "/"
			}
			names = append(names, strings.ToValidUTF8(name, "\uFFFD"))
			if size += len(name) + 3; size > MaxResult {
				return tooLarge("the list of the names in " + in.Path)
			}
		}
		slices.Sort(names)
		return err
	})
	return names, err
}

// exists reports whether there is a file or directory.
func (f files) exists(_ context.Context, in onePath) (there bool, err error) {
	err = f.in(func(root *os.Root) error {
		_, err := root.Lstat(in.Path)
		if there = err == nil; errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return there, err
}

// mkdir makes a directory and those above it. One that is there is none to make.
func (f files) mkdir(_ context.Context, in onePath) (any, error) {
	return nil, f.in(func(root *os.Root) error { return about(in.Path, root.MkdirAll(in.Path, 0o755)) })
}

// remove deletes a file, or a directory with nothing in it. What is not there is deleted.
func (f files) remove(_ context.Context, in onePath) (any, error) {
	return nil, f.in(func(root *os.Root) error {
		if err := root.Remove(in.Path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

// move moves a file or directory and replaces a file. An attempt that was lost may have moved
// it: then it is at its place, and nothing is left to do.
func (f files) move(ctx context.Context, in struct {
	Path string `json:"path"`
	To   string `json:"to"`
}) (any, error) {
	return nil, f.in(func(root *os.Root) error {
		if _, err := root.Lstat(in.Path); errors.Is(err, fs.ErrNotExist) {
			info, _ := activity.FromContext(ctx)
			if _, moved := root.Lstat(in.To); moved == nil && info.Attempt > 1 {
				return nil
			}
			return err
		}
		if err := makeParents(root, in.To); err != nil {
			return err
		}
		return about(in.Path, root.Rename(in.Path, in.To))
	})
}
