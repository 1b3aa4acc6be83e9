package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
)

// format is the format of the output.
type format string

const (
	formatTable format = "table" // for people
	formatJSON  format = "json"  // one document
	formatLines format = "jsonl" // one object per line
)

// Set implements the flag.
func (f *format) Set(s string) error {
	switch format(s) {
	case formatTable, formatJSON, formatLines:
		*f = format(s)
		return nil
	}
	return fmt.Errorf("it must be table, json or jsonl")
}

func (f *format) String() string { return string(*f) }

// Type returns the name of the value in the help.
func (f *format) Type() string { return "table|json|jsonl" }

// document prints one object for programs.
func (a *app) document(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if a.format == formatJSON {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return err
	}
	a.json(text.Bytes())
	return nil
}

// json prints JSON. encoding/json escapes most of what a terminal would interpret; json
// escapes the rest in JSON notation.
func (a *app) json(text []byte) {
	for line := range bytes.Lines(text) {
		a.out.WriteString(human.Escape(strings.ToValidUTF8(string(bytes.TrimSuffix(line, []byte("\n"))), "\ufffd")))
		a.out.WriteByte('\n')
	}
}

// text prints a text of users: unchanged, but escaped on a terminal.
func (a *app) text(text string) {
	if !a.stdout.Known() {
		a.out.WriteString(text)
		return
	}
	for _, line := range human.Lines(text) {
		a.printf("%s\n", line)
	}
}

// documents prints several objects for programs: as one array, or one per line.
func documents[T any](a *app, all []T) error {
	if a.format == formatJSON {
		if all == nil {
			all = []T{}
		}
		return a.document(all)
	}
	for _, v := range all {
		if err := a.document(v); err != nil {
			return err
		}
	}
	return nil
}

// listing prints several objects: as documents for programs, or for people with show, or
// with the line none if there are none.
func listing[T any](a *app, all []T, none string, show func([]T) error) error {
	switch {
	case a.format != formatTable:
		return documents(a, all)
	case len(all) == 0:
		a.printf("%s\n", none)
		return nil
	}
	return show(all)
}

// cutOff says that --limit cut a list.
func (a *app) cutOff(which string, shown int) {
	if a.format == formatTable {
		a.printf("\nThere are more than these %s %d. To see them: --limit 0\n", which, shown)
	}
}

// table returns a table in the style of standard output.
func (a *app) table(heads ...string) *term.Table {
	t := term.NewTable(a.stdout.Style, heads...)
	t.Width = a.stdout.Width()
	return t
}

// ago formats a time in a table; where space is short, as how long ago it was.
func (a *app) ago(t time.Time) term.Either {
	if t.IsZero() { // of what was only selected
		return term.Either{}
	}
	return term.Either{Long: human.Time(t), Short: human.When(t, a.env.Now())}
}

// printf prints lines for people to standard output. The format is the command's own; it
// escapes all texts among the arguments.
func (a *app) printf(format string, args ...any) {
	a.out.WriteString(term.Sprintf(a.stdout.Style, format, args...))
}

// clear clears the screen. Call it only if standard output is a terminal with cursor
// movement.
func (a *app) clear() { a.out.WriteString("\x1b[H\x1b[2J") }

// notef is printf for standard error.
func (a *app) notef(format string, args ...any) {
	_, _ = io.WriteString(a.env.Stderr, term.Sprintf(a.stderr.Style, format, args...)) // there is nowhere to report this error
}

// clip cuts a text that would make a table much wider than the terminal. It does not cut
// piped output.
func (a *app) clip(s string, columns int) string {
	if a.stdout.Width() == 0 {
		return s
	}
	return term.Clip(s, max(columns, a.stdout.Width()/2))
}

// statusColours are the colours of statuses by meaning.
var statusColours = map[string]term.Colour{
	"completed": term.Good, "failed": term.Bad, "canceled": term.Bad, "terminated": term.Bad,
	"timed-out": term.Bad, "lost": term.Bad,
	"parked": term.Bad, "quarantined": term.Bad, "paused": term.Bad, "waiting-for-code": term.Bad,
	"running": term.Busy, "external": term.Busy, "backoff": term.Busy, "queued": term.Busy, "offered": term.Busy,
}

func status(s string) term.Painted { return term.Painted{Text: s, Colour: statusColours[s]} }
