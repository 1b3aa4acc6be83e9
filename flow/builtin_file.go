package flow

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
)

const filesOff = "Name the directory of files where the file runs: --files DIR."

// files are the actions on files below a directory, and none outside of it.
type files struct{ directory string }

// in opens the directory for the time of f.
func (f files) in(do func(root *os.Root) error) error {
	if f.directory == "" {
		return retry.Terminal(&ActionError{"FileError", errors.New("files are switched off. " + filesOff)})
	}
	root, err := os.OpenRoot(f.directory)
	if err != nil {
		return fileError(err)
	}
	defer root.Close()
	if err := do(root); err != nil {
		if retry.IsTerminal(err) {
			return err
		}
		return fileError(err)
	}
	return nil
}

// fileError gives an error the names that files know it by.
func fileError(err error) error {
	failure := &ActionError{"FileError", err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &ActionError{"NotExist", failure}
	case errors.Is(err, fs.ErrPermission):
		return &ActionError{"Permission", failure}
	}
	return failure
}

func (f files) read(_ context.Context, in struct {
	Path string `json:"path"`
}) (text string, err error) {
	err = f.in(func(root *os.Root) error {
		file, err := root.Open(in.Path)
		if err != nil {
			return err
		}
		defer file.Close()
		data, err := io.ReadAll(io.LimitReader(file, maxResult+1))
		switch {
		case err != nil:
			return err
		case len(data) > maxResult:
			return tooLarge("the file " + in.Path)
		case !utf8.Valid(data):
			return errors.New("the file " + in.Path + " is no text in UTF-8")
		}
		text = string(data)
		return nil
	})
	return text, err
}

// write writes beside the file and renames, so that nobody sees half of it. An
// attempt that adds to the end and dies may have added already.
func (f files) write(ctx context.Context, in struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Append  bool   `json:"append,omitempty"`
}) (n int, err error) {
	err = f.in(func(root *os.Root) error {
		if in.Append {
			file, err := root.OpenFile(in.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			_, err = io.Copy(file, strings.NewReader(in.Content))
			return errors.Join(err, file.Close())
		}
		info, _ := activity.FromContext(ctx)
		beside := in.Path + ".part-" + strings.Map(plainLetter, info.AttemptID)
		file, err := root.OpenFile(beside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, bytes.NewReader([]byte(in.Content)))
		err = errors.Join(err, file.Sync(), file.Close())
		if err == nil {
			err = root.Rename(beside, in.Path)
		}
		if err != nil {
			_ = root.Remove(beside)
		}
		return err
	})
	return len(in.Content), err
}

// plainLetter keeps what may stand in the name of a file everywhere.
func plainLetter(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}
