package torture

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// words are in lines that no process may write, whatever is done to it: those of the runtime of
// Go, and of a process that cannot begin.
var words = []string{"panic", "DATA RACE", "goroutine ", "fatal", "node:", "worker:"}

// expected are the events of level error that may come of what is done to a process, or to the
// database.
var expected = []string{"partitions_lost", "database_away"}

// unexpected are events of a lower level that must not come of it.
var unexpected = []string{"message_dropped", "run_failed", "call_paused"}

var (
	eventOf = regexp.MustCompile(`\bevent=(?:more of=)?(\w+)`)
	isError = regexp.MustCompile(`\blevel=ERROR\b`)
)

// IsComplaint reports whether a line is one that no process may write, whatever is done to it.
func IsComplaint(line string) bool {
	if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) }) {
		return true
	}
	event := ""
	if m := eventOf.FindStringSubmatch(line); m != nil {
		event = m[1]
	}
	return isError.MatchString(line) && !slices.Contains(expected, event) || slices.Contains(unexpected, event)
}

// maxSaid is how much is kept of what a process writes, in bytes.
const maxSaid = 4 << 20

// output collects what a process writes.
type output struct {
	isComplaint func(line string) bool

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
		if o.isComplaint(string(line)) {
			o.found = append(o.found, string(line))
		}
		o.line = rest
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
