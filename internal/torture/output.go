package torture

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// Never are words in lines that no process may write, whatever is done to it.
var Never = []string{
	"panic", "DATA RACE", "goroutine ", "fatal", "node:", "took its place", "is held", "is parked", "cannot go on",
	"is left in the inbox", "is dropped", "refused the turn",
}

// maxSaid is how much is kept of what a process writes, in bytes.
const maxSaid = 4 << 20

// output collects what a process writes.
type output struct {
	never []string

	mu    sync.Mutex
	text  []byte
	line  []byte // that has no end yet
	found []string
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text = append(o.text, b...); len(o.text) > maxSaid {
		o.text = slices.Clone(o.text[maxSaid/2:])
	}
	o.line = append(o.line, b...)
	for {
		line, rest, ended := bytes.Cut(o.line, []byte("\n"))
		if !ended {
			return len(b), nil
		}
		o.look(string(line))
		o.line = rest
	}
}

// look notes a line with a word that may not be in it.
func (o *output) look(line string) {
	for _, word := range o.never {
		if strings.Contains(line, word) {
			o.found = append(o.found, line)
			return
		}
	}
}

func (o *output) complaints() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.found)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.text)
}
