package history

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/view/bounds"
)

// Limits of recorded texts, in bytes.
const (
	MaxID   = 1000 // of a workflow or signal ID
	MaxName = 200  // of a definition, step, timer, side effect or signal
	// MaxMemo limits an encoded memo, which is read with each row.
	MaxMemo = 16 << 10
	// MaxReason limits the reason of a request, which is shown with each record.
	MaxReason = 10_000
)

type (
	// InputError means that an argument cannot be accepted.
	InputError = bounds.InputError
	// LimitError means that a run has come to a limit of its engine.
	LimitError = bounds.LimitError
)

// CheckName returns an error if a name could not be stored, shown and read back unchanged.
func CheckName(what, s string) error { return checkText(what, s, MaxName) }

// CheckKey returns an error if a run could not have the key; it may have none. Stores order keys,
// and rely on that none has a control character.
func CheckKey(key string) error {
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return &InputError{What: "key", Problem: "contains a control character"}
	}
	if key == "" {
		return nil
	}
	return CheckName("key", key)
}

// CheckID is CheckName for IDs.
func CheckID(what, s string) error { return checkText(what, s, MaxID) }

// CheckWorkflowID is CheckID for workflow IDs, wherever one is chosen or used to name a
// run: users cannot reach other IDs. See Reserved.
func CheckWorkflowID(id string) error { return checkOwnID("workflow ID", id) }

// CheckSignalID is CheckID for the IDs of signals.
func CheckSignalID(id string) error { return checkOwnID("signal ID", id) }

func checkOwnID(what, id string) error {
	if space := Reserved(id); space != "" {
		return &InputError{What: what, Problem: fmt.Sprintf("begins with %q: such IDs are reserved for gates, schedules and other parts of the engine; choose another one", space)}
	}
	return CheckID(what, id)
}

// Reserved returns the reserved prefix with which an ID begins, or "" if users may have the
// ID. IDs of the engine begin with a # and a lower-case word, such as "#gate/payments". All
// others are free for users, such as "#17".
func Reserved(id string) string {
	if id == "" || id[0] != '#' { // the common case
		return ""
	}
	word := strings.TrimLeft(id[1:], "abcdefghijklmnopqrstuvwxyz")
	end := len(id) - len(word)
	if end == 1 || word != "" && word[0] != '/' {
		return ""
	}
	return id[:end]
}

// CheckText is CheckName for a recorded text that may be empty.
func CheckText(what, s string, limit int) error {
	if s == "" {
		return nil
	}
	return checkText(what, s, limit)
}

// CheckContext returns an error if ctx is nil.
func CheckContext(ctx context.Context) error {
	if ctx == nil {
		return &InputError{What: "context", Problem: "is nil; give it context.Background() if there is no other"}
	}
	return nil
}

func checkText(what, s string, limit int) error {
	switch {
	case s == "":
		return &InputError{What: what, Problem: "is empty"}
	case len(s) > limit:
		return &InputError{What: what, Problem: fmt.Sprintf("is %d bytes long; the limit is %d", len(s), limit)}
	case !utf8.ValidString(s):
		return &InputError{What: what, Problem: "is not valid UTF-8"}
	case strings.ContainsRune(s, 0):
		return &InputError{What: what, Problem: "contains a NUL character"}
	}
	return nil
}
