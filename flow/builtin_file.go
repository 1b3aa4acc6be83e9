package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/retry"
)

// files are the actions on files below a directory, and none outside of it.
type files struct{ directory string }

// in opens the directory for the time of f.
func (f files) in(do func(root *os.Root) error) error {
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

// about makes an error of the file system name the file that the program names.
func about(name string, err error) error {
	if inside, is := errors.AsType[*fs.PathError](err); is {
		return &fs.PathError{Op: inside.Op, Path: name, Err: inside.Err}
	}
	if moved, is := errors.AsType[*os.LinkError](err); is {
		return &fs.PathError{Op: moved.Op, Path: name, Err: moved.Err}
	}
	return err
}

// makeParents makes the directories above a file.
func makeParents(root *os.Root, name string) error {
	if dir := path.Dir(filepath.ToSlash(name)); dir != "." && dir != "/" {
		return about(dir, root.MkdirAll(dir, 0o755))
	}
	return nil
}

// fileError gives an error the names that files know it by.
func fileError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed("NotExist", err)
	case errors.Is(err, fs.ErrPermission):
		return failed("Permission", err)
	}
	return failed("FileError", err)
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
		data, err := io.ReadAll(io.LimitReader(file, MaxResult+1))
		switch {
		case err != nil:
			return err
		case len(data) > MaxResult:
			return tooLarge("the file " + in.Path)
		case !utf8.Valid(data):
			return errors.New("the file " + in.Path + " is no text in UTF-8")
		}
		text = string(data)
		return nil
	})
	return text, err
}

// write writes a file, in directories that it makes.
func (f files) write(ctx context.Context, in struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Append  bool   `json:"append,omitempty"`
}) (n int, err error) {
	err = f.in(func(root *os.Root) error {
		if in.Append {
			return appendOnce(ctx, root, in.Path, in.Content)
		}
		return replaceFile(ctx, root, in.Path, func(file io.Writer) error {
			_, err := io.Copy(file, strings.NewReader(in.Content))
			return err
		})
	})
	return len(in.Content), err
}

// replaceFile writes a file beside the one of that name and renames it, so that no reader
// sees half of it. What earlier attempts of the call have left, because their process
// died, is removed.
func replaceFile(ctx context.Context, root *os.Root, name string, write func(file io.Writer) error) error {
	info, _ := activity.FromContext(ctx)
	part := func(attempt int) string {
		return fmt.Sprintf("%s.part-%s-%d", name, strings.Map(plainLetter, info.CallID), attempt)
	}
	for attempt := max(1, info.Attempt-maxLeft); attempt < info.Attempt; attempt++ {
		_ = root.Remove(part(attempt)) // it may be there
	}
	if err := makeParents(root, name); err != nil {
		return err
	}
	return writeWhole(root, name, part(info.Attempt), write)
}

// writeWhole writes a file beside the one of that name and gives it its name then.
func writeWhole(root *os.Root, name, beside string, write func(file io.Writer) error) error {
	file, err := root.OpenFile(beside, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Sync(), file.Close())
	if err == nil {
		err = root.Rename(beside, name)
	}
	if err != nil {
		_ = root.Remove(beside)
	}
	return about(name, err)
}

// maxLeft is how many earlier attempts are looked at that may have left something.
const maxLeft = 100

// download is the answer to a request in a file.
type download struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Bytes   int64             `json:"bytes"`
	SHA256  string            `json:"sha256"`
}

// download writes the answer to a request into a file, however long it is.
func (f files) download(h *requests) activity.Func[fetch, download] {
	return func(ctx context.Context, in fetch) (out download, err error) {
		var broken error // of the request
		err = f.in(func(root *os.Root) error {
			resp, err := h.send(ctx, filled{bare: in.bare})
			if err != nil {
				broken = err
				return nil
			}
			defer resp.Body.Close()
			out = download{Status: resp.StatusCode, Headers: plainHeaders(resp.Header)}
			sum := sha256.New()
			return replaceFile(ctx, root, in.Path, func(file io.Writer) error {
				body := &watched{resp.Body, nil}
				out.Bytes, err = io.Copy(io.MultiWriter(file, sum), body)
				out.SHA256 = hex.EncodeToString(sum.Sum(nil))
				if body.err != nil {
					broken = h.early(resp, body.err)
				}
				return err
			})
		})
		if broken != nil {
			return download{}, broken
		}
		return out, err
	}
}

// fetch is what download takes.
type fetch struct {
	bare
	Path string `json:"path"`
}

// watched remembers with which error reading failed.
type watched struct {
	io.Reader
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}

// plainLetter keeps what may stand in the name of a file everywhere.
func plainLetter(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}
