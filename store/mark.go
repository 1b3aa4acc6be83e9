package store

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/see"
)

// CodecError refuses a program that lacks codecs with which the database is written. Such a
// node would write unencoded what others encode, and hold runs that it cannot read; a worker
// or a client would do the same to inputs and results.
type CodecError struct {
	Location string
	Missing  []string // names of codecs
}

func (e *CodecError) Error() string {
	names := make([]string, len(e.Missing))
	for i, name := range e.Missing {
		names[i] = fmt.Sprintf("%q", name)
	}
	what := "the codec"
	if len(names) > 1 {
		what += "s"
	}
	return fmt.Sprintf("%s is written with %s %s, which this program does not have: wrap the store in codec.Over with all of them, or in codec.Reading to write in clear from now on and still read what is there; give the command perdure the file of the codecs with --codec %s",
		e.Location, what, strings.Join(names, ", "), see.Codecs)
}

// Mark returns the mark of a database after the node has joined, given the mark before: the
// names of all codecs with which nodes have encoded, sorted, as JSON, and "" for none. If
// nothing changes it returns before. The error is a *CodecError if the node lacks one of the
// codecs. A store calls Mark in the transaction of Join.
func (n *Node) Mark(location, before string) (string, error) {
	var names []string
	if before != "" {
		if err := json.Unmarshal([]byte(before), &names); err != nil {
			return "", fmt.Errorf("%s: what says with which codecs the database is written is damaged; restore it from a backup: %w", location, err)
		}
	}
	var missing []string
	for _, name := range names {
		if !slices.Contains(n.Codecs, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return "", &CodecError{location, missing}
	}
	known := len(names)
	names = append(names, n.Encodes...)
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == known {
		return before, nil
	}
	mark, err := json.Marshal(names)
	return string(mark), err
}
