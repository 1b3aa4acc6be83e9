package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/database"
	"github.com/perdure/perdure/cmd/perdure/internal/demo"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/view"
)

// Exit codes.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitRunFailed   = 3 // the awaited run did not complete
	exitNotFound    = 5
	exitTimedOut    = 6 // a wait timed out
	exitAttention   = 7 // status: something needs attention; check-code: a run would stop; doctor, torture: something is wrong; migrate --check: one is due
	exitInterrupted = 130
)

// kinds are the names of the exit codes in JSON.
var kinds = map[int]string{
	exitError: "error", exitUsage: "usage", exitRunFailed: "run_failed", exitAttention: "attention", exitNotFound: "not_found",
	exitTimedOut: "timed_out", exitInterrupted: "interrupted",
}

// Error is the error that ended the command: what is wrong, what to do, and the exit code.
type Error struct {
	Code int
	What string // one or more sentences
	Hint string // what to do; may be empty
	// Silent says that everything was already printed; only the code is left.
	Silent bool
}

func (e *Error) Error() string { return e.What }

// failure is an error with an exit code, and what to do about it, which may be empty.
func failure(code int, hint, format string, args ...any) *Error {
	return &Error{Code: code, What: fmt.Sprintf(format, args...), Hint: hint}
}

// usage is an error in the command's arguments.
func usage(hint, format string, args ...any) *Error { return failure(exitUsage, hint, format, args...) }

// explain converts any error to one that the user can act on.
func explain(scr *screen, ctx context.Context, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, demo.ErrInterrupted) {
		return &Error{Code: exitInterrupted, What: "The demo was interrupted.", Silent: scr.format == formatTable}
	}
	if ctx.Err() != nil {
		return &Error{Code: exitInterrupted, What: "Interrupted."}
	}
	e := &Error{Code: exitError, What: human.Sentence(err.Error())}
	stuck, isDemo := errors.AsType[*demo.Error](err)
	input, isInput := errors.AsType[*view.InputError](err)
	unusable, isUnusable := errors.AsType[*database.Error](err)
	outdated, isOutdated := errors.AsType[*store.SchemaError](err)
	sealed, isSealed := errors.AsType[*store.SealedError](err)
	switch {
	case isUnusable:
		e.What, e.Hint = unusable.What, unusable.Hint
	case errors.Is(err, perdure.ErrForeign):
		e.Hint = "Name an engine's database with --db."
	case errors.Is(err, perdure.ErrNewer):
		e.Hint = "Use the command of the engine's version."
	case isOutdated:
		e.What = human.Sentence(outdated.Text())
		e.Hint = "Let a user who may change it run: perdure migrate\nTo see the statements: perdure migrate --print"
	case isSealed:
		e.What, e.Hint = human.Sentence(sealed.Text()), human.Sentence(sealed.Advice())
	case isDemo:
		e.Hint = stuck.Hint
	case isInput:
		e.Code, e.What = exitUsage, human.Sentence(input.Error())
	}
	return e
}

// complain prints an error: as text for people, or as one JSON object for programs.
func (scr *screen) complain(e *Error) {
	if e.Silent {
		return
	}
	if scr.wantsJSON() {
		text, _ := json.Marshal(map[string]any{"error": struct {
			Kind    string `json:"kind"`
			Exit    int    `json:"exit"`
			Message string `json:"message"`
			Hint    string `json:"hint,omitempty"`
		}{kinds[e.Code], e.Code, e.What, e.Hint}}) // strings and numbers only: cannot fail
		scr.notef("%s\n", text)
		return
	}
	scr.notef("%s ", term.Painted{Text: "perdure:", Colour: term.Bad})
	for _, line := range append(human.Lines(e.What), human.Lines(e.Hint)...) {
		scr.notef("%s\n", line)
	}
}

// wantsJSON reports whether errors are printed as JSON. The flags may be the error, so it
// looks at the raw arguments.
func (scr *screen) wantsJSON() bool {
	if scr.format != formatTable {
		return true
	}
	for i, arg := range scr.env.Args {
		name, value, joined := strings.Cut(arg, "=")
		switch {
		case arg == "--":
			return false
		case !joined && (arg == "-o" || arg == "--output") && i+1 < len(scr.env.Args):
			value = scr.env.Args[i+1]
		case !joined && strings.HasPrefix(arg, "-o"):
			value = arg[2:]
		case name != "-o" && name != "--output":
			continue
		}
		if slices.Contains([]string{"json", "jsonl"}, value) {
			return true
		}
	}
	return false
}
