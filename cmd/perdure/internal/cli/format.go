package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/term"
	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/internal/listing"
	"github.com/perdure/perdure/internal/wording"
	"github.com/spf13/cobra"
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
func (scr *screen) document(v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if scr.format == formatJSON {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return err
	}
	scr.json(text.Bytes())
	return nil
}

// json prints JSON. encoding/json escapes most of what a terminal would interpret; json
// escapes the rest in JSON notation.
func (scr *screen) json(text []byte) {
	for line := range bytes.Lines(text) {
		scr.out.WriteString(human.Escape(strings.ToValidUTF8(string(bytes.TrimSuffix(line, []byte("\n"))), "\ufffd")))
		scr.out.WriteByte('\n')
	}
}

// text prints a text of users: unchanged, but escaped on a terminal.
func (scr *screen) text(text string) {
	if !scr.stdout.Known() {
		scr.out.WriteString(text)
		return
	}
	for _, line := range human.Lines(text) {
		scr.printf("%s\n", line)
	}
}

// show shows one value: as a document to programs, and to people as tell does.
func (scr *screen) show(v any, tell func()) error {
	if scr.format != formatTable {
		return scr.document(v)
	}
	tell()
	return nil
}

// judge shows what came of a check. The exit code says that it is not well; wrong says it in words.
func (scr *screen) judge(v any, well bool, wrong string, tell func()) error {
	err := scr.show(v, tell)
	if err == nil && !well {
		err = &Error{Code: exitAttention, What: wrong, Silent: true}
	}
	return err
}

// documents prints several objects for programs: as one array, or one per line.
func documents[T any](scr *screen, all []T) error {
	out := array{scr: scr}
	for _, v := range all {
		if err := out.add(v); err != nil {
			return err
		}
	}
	out.end()
	return nil
}

// showAll prints several objects: as documents for programs, or for people with show, or
// with the line none if there are none.
func showAll[T any](scr *screen, all []T, none string, show func(*screen, []T)) error {
	switch {
	case scr.format != formatTable:
		return documents(scr, all)
	case len(all) == 0:
		scr.printf("%s\n", none)
	default:
		show(scr, all)
	}
	return nil
}

// listOf makes the command of a row of the table of lists.
func listOf[Q, T any](scr *screen, db *source, l *listing.List[Q, T], table func(*screen, []T)) *cobra.Command {
	q := new(Q)
	words := strings.Fields(l.Line)
	cmd := &cobra.Command{Use: words[len(words)-1], Short: l.Short, Long: l.Long, Example: l.Example}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return db.withEngine(cmd.Context(), func(e *perdure.Engine) error {
			all, err := l.Read(cmd.Context(), e, q, scr.env.Now())
			if err != nil {
				return wrongParam(q, err)
			}
			return showAll(scr, all, strings.ReplaceAll(l.None, "{group}", db.inGroup()), table)
		})
	}
	addParams(scr, cmd, q, "")
	return cmd
}

// unlessZero is a number in a table, where 0 is none.
func unlessZero[N int | int64](n N) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// cutOff says that --limit cut a list.
func (scr *screen) cutOff(which string, shown int) {
	if scr.format == formatTable {
		scr.printf("\nThere are more than these %s %d. To see them: --limit 0\n", which, shown)
	}
}

// table returns a table in the style of standard output.
func (scr *screen) table(heads ...string) *term.Table {
	t := term.NewTable(scr.stdout.Style, heads...)
	t.Width = scr.stdout.Width()
	return t
}

// titled returns a table that is left out if it has no rows, with a title above it.
func (scr *screen) titled(title string, heads ...string) *term.Table {
	t := scr.table(heads...)
	t.Title = title
	return t
}

// facts returns a table of names and texts, and adds one of them to it unless its text is empty.
func (scr *screen) facts() (table *term.Table, fact func(name, text string)) {
	table = scr.table()
	table.Indent = "  "
	return table, func(name, text string) { scr.fact(table, name, text, "") }
}

// fact adds a name and a text, with the tone of a state, to a table.
func (scr *screen) fact(table *term.Table, name, text, state string) {
	for _, line := range scr.broken(text) {
		table.Row(term.Painted{Text: name, Colour: term.Faint}, term.Painted{Text: line, Colour: colourOf(state)})
		name = ""
	}
}

// tell adds facts to a table.
func (scr *screen) tell(table *term.Table, facts []wording.Fact) {
	now := scr.env.Now()
	for _, f := range facts {
		text := f.Text
		if f.At != nil {
			far := human.Ago(*f.At, now)
			switch {
			case f.Due:
				far = human.When(*f.At, now)
			case f.Took != "":
				far = "took " + f.Took
			}
			text = strings.TrimSpace(text + " " + human.Time(*f.At) + " (" + far + ")")
		}
		if f.Note != "" {
			text += " (" + f.Note + ")"
		}
		scr.fact(table, f.Name, text+wording.Person(f.By, f.Why), f.State)
	}
}

// ago formats a time in a table; where space is short, as how long ago it was.
func (scr *screen) ago(t time.Time) term.Either {
	if t.IsZero() { // of what was only selected
		return term.Either{}
	}
	return term.Either{Long: human.Time(t), Short: human.When(t, scr.env.Now())}
}

// printf prints lines for people to standard output. The format is the command's own; it
// escapes all texts among the arguments. What prints for people returns no error: the writer keeps
// the first one until it is flushed.
func (scr *screen) printf(format string, args ...any) {
	scr.out.WriteString(term.Sprintf(scr.stdout.Style, format, args...))
}

// lines prints lines, if there are any, below words of the command's own.
func (scr *screen) lines(head, indent string, lines []string) {
	if len(lines) > 0 {
		scr.out.WriteString(head)
	}
	for _, line := range lines {
		scr.printf("%s%s\n", indent, line)
	}
}

// clear clears the screen. Call it only if standard output is a terminal with cursor
// movement.
func (scr *screen) clear() { scr.out.WriteString("\x1b[H\x1b[2J") }

// notef is printf for standard error.
func (scr *screen) notef(format string, args ...any) {
	_, _ = io.WriteString(scr.env.Stderr, term.Sprintf(scr.stderr.Style, format, args...)) // there is nowhere to report this error
}

// counted returns what tells a person, on a terminal, how many runs were read so far; nil for others.
func (scr *screen) counted() func(runs int) {
	if !scr.stderr.Moves || scr.format != formatTable {
		return nil
	}
	said := 0
	return func(runs int) {
		if runs >= said+1000 {
			said = runs
			scr.notef("%s so far\n", human.Plural(runs, "run", "runs"))
		}
	}
}

// clip cuts a text that would make a table much wider than the terminal. It does not cut
// piped output.
func (scr *screen) clip(s string, columns int) string {
	if scr.stdout.Width() == 0 {
		return s
	}
	return term.Clip(s, max(columns, scr.stdout.Width()/2))
}

// colourOf is the colour of a state: what waits for a person is as bad as what has failed.
func colourOf(state string) term.Colour { return colours[wording.ToneOf(state)] }

var colours = map[wording.Tone]term.Colour{
	"good": term.Good, "bad": term.Bad, "held": term.Bad, "busy": term.Busy, "wait": term.Busy, "retry": term.Busy,
}

func status(s string) term.Painted { return term.Painted{Text: s, Colour: colourOf(s)} }
