package history

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/view"
)

// Limits of texts that are recorded, in bytes.
const (
	MaxID   = 1000 // of a workflow or signal ID
	MaxName = 200  // of a definition, step, timer, side effect or signal
	// MaxMemo is for an encoded memo: it is read with each row.
	MaxMemo = 16 << 10
)

// InputError means that an argument cannot be accepted.
type InputError = view.InputError

// CheckName refuses names that could not be stored, shown, or read back as they
// were.
func CheckName(what, s string) error { return checkText(what, s, MaxName) }

// CheckID is CheckName for IDs.
func CheckID(what, s string) error { return checkText(what, s, MaxID) }

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
