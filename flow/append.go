package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/activity"
)

// appending lets one append at a time look for the end of its file.
var appending sync.Mutex

// appendOnce adds to the end of a file, once for all attempts of a call: the first one keeps
// where it begins before it writes, and one that follows it, because its process died, looks
// there for what is written already.
func appendOnce(ctx context.Context, root *os.Root, name, content string) error {
	if err := makeParents(root, name); err != nil {
		return err
	}
	appending.Lock()
	defer appending.Unlock()
	file, err := root.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	info, _ := activity.FromContext(ctx)
	begin, err := beginOf(root, info, end)
	if err != nil {
		return err
	}
	written := content
	if end-begin < int64(len(content)) {
		written = content[:max(end-begin, 0)]
	}
	found := make([]byte, len(written))
	if _, err := file.ReadAt(found, begin); err != nil && err != io.EOF {
		return err
	}
	rest := content[len(written):]
	if string(found) != written { // others have added to the file since
		rest = content
	}
	// What is left stands at the end in both cases. Other processes may add to it, too.
	last, err := root.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.WriteString(last, rest)
	return errors.Join(err, last.Sync(), last.Close())
}

// keptAppends is for how long the beginnings of appends are kept.
const keptAppends = 90 * 24 * time.Hour

// beginOf returns where the content of a call begins in its file: what the first attempt has
// kept, or the end of the file, which is kept.
func beginOf(root *os.Root, info activity.Info, end int64) (int64, error) {
	if info.CallID == "" {
		return end, nil
	}
	kept := ownDirectory + "/append-" + strings.Map(plainLetter, info.CallID)
	if info.Attempt > 1 {
		text, err := root.ReadFile(kept)
		if begin, wrong := strconv.ParseInt(string(text), 10, 64); err == nil && wrong == nil && begin >= 0 && begin <= end {
			return begin, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	if err := root.MkdirAll(ownDirectory, 0o755); err != nil {
		return 0, err
	}
	forgetAppends(root, info.Started.Add(-keptAppends))
	return end, writeWhole(root, kept, kept+"-new", func(file io.Writer) error {
		_, err := fmt.Fprint(file, end)
		return err
	})
}

// forgetAppends removes what was kept before a time, now and then.
func forgetAppends(root *os.Root, before time.Time) {
	const many = 256
	dir, err := root.Open(ownDirectory)
	if err != nil {
		return
	}
	defer dir.Close()
	entries, err := dir.ReadDir(many)
	if err != nil || len(entries) < many {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			_ = root.Remove(ownDirectory + "/" + e.Name())
		}
	}
}
