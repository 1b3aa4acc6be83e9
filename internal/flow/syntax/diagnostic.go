package syntax

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Diagnostic is one thing that is wrong with a flow file, where, and what to do
// about it. It is plain data with stable JSON names.
type Diagnostic struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line"`   // from 1
	Column int    `json:"column"` // from 1, in characters
	Width  int    `json:"width"`  // how many characters of the line it is about, at least 1
	Code   string `json:"code"`   // one of Codes
	Text   string `json:"message"`
	Hint   string `json:"hint,omitempty"`
	// Source is the line, or the part of a long line that it is about; the fault
	// is Before characters into it.
	Source string `json:"source,omitempty"`
	Before int    `json:"before,omitempty"`
}

// Codes are the kinds of diagnostics, stable words for programs, and what each is
// about. Those but the first three are found by package check.
var Codes = []struct{ Code, Meaning string }{
	{CodeSyntax, "the text is not a flow file"},
	{CodePolicy, "a policy is not in the notation, or contradicts itself"},
	{CodeLimit, "the file is beyond a bound: its size, its nesting"},
	{CodeAction, "an action that does not exist, or that no file can call"},
	{CodeOff, "an action that a flag of the command allows"},
	{CodeName, "a variable or a function that does not exist"},
	{CodeArity, "too many or too few arguments, inputs, outputs, or variables"},
	{CodeUnreachable, "a statement or a clause that can never be reached"},
	{CodeDuplicate, "something that is there twice"},
	{CodePlace, "a statement where it has no meaning"},
	{CodeDeadline, "a policy that cannot do within its deadline what it says"},
	{CodeValue, "a value that fails whenever it is reached"},
	{CodeError, "an error type that nothing can fail with"},
}

// The codes.
const (
	CodeSyntax      = "syntax"
	CodePolicy      = "policy"
	CodeLimit       = "limit"
	CodeAction      = "unknown_action"
	CodeOff         = "switched_off"
	CodeName        = "unknown_name"
	CodeArity       = "arity"
	CodeUnreachable = "unreachable"
	CodeDuplicate   = "duplicate"
	CodePlace       = "misplaced"
	CodeDeadline    = "deadline"
	CodeValue       = "value"
	CodeError       = "unknown_error"
)

// Diagnostics are all faults of a file, in the order of the text. They are an
// error if there are any; see Err.
type Diagnostics []Diagnostic

// Err returns the diagnostics as an error, nil if there are none.
func (d Diagnostics) Err() error {
	if len(d) == 0 {
		return nil
	}
	return d
}

// ErrorType returns FlowError.
func (d Diagnostics) ErrorType() string { return "FlowError" }

// Error shows them all, each with its line and a caret below the fault.
func (d Diagnostics) Error() string {
	texts := make([]string, len(d))
	for i, one := range d {
		texts[i] = one.String()
	}
	return strings.Join(texts, "\n")
}

// String is the diagnostic in a few lines: FILE:LINE:COLUMN and the message, the
// line with a caret below what it is about, and the hint.
func (d Diagnostic) String() string {
	var b strings.Builder
	if d.File != "" {
		b.WriteString(d.File + ":")
	}
	fmt.Fprintf(&b, "%d:%d: %s", d.Line, d.Column, d.Text)
	if d.Source != "" {
		fmt.Fprintf(&b, "\n    %s\n    %s%s", d.Source, strings.Repeat(" ", d.Before), strings.Repeat("^", max(d.Width, 1)))
	}
	if d.Hint != "" {
		b.WriteString("\n    " + d.Hint)
	}
	return b.String()
}

// shownWidth is how much of a long line is shown.
const shownWidth = 100

// Diagnose makes a diagnostic about a part of the file.
func (f *File) Diagnose(span Span, code, hint, format string, args ...any) Diagnostic {
	from := f.lines.position(span.From)
	line := f.lines.line(from.Line)
	lineStart := f.lines.starts[from.Line-1]
	start := min(span.From-lineStart, len(line))
	end := min(max(span.To-lineStart, start), len(line))
	d := Diagnostic{
		File: f.Name, Line: from.Line, Column: from.Column, Code: code, Hint: hint,
		Text: fmt.Sprintf(format, args...),
	}
	// A window around the fault; both cuts are at characters.
	left, right := 0, len(line)
	if backwards(line, start, shownWidth*2/3) > 0 {
		left = backwards(line, start, shownWidth/2)
	}
	for n, i := 0, left; i < len(line); n++ {
		if n == shownWidth {
			right = i
			break
		}
		_, size := utf8.DecodeRuneInString(line[i:])
		i += size
	}
	visible := func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}
	start, end, right = max(start, left), max(min(end, right), start), max(right, start)
	d.Source = strings.TrimRight(strings.Map(visible, line[left:right]), " ")
	d.Before = utf8.RuneCountInString(line[left:start])
	d.Width = max(utf8.RuneCountInString(line[start:min(end, right)]), 1)
	return d
}

// TooManyFaults is what is reported in the place of what comes after MaxFaults
// faults.
func (f *File) TooManyFaults(span Span) Diagnostic {
	return f.Diagnose(span, CodeLimit, "Mend those above first.", "there are more than %d faults; what follows is not looked at", MaxFaults)
}

// backwards is the place so many characters before another one, or the beginning.
func backwards(line string, at, characters int) int {
	for ; characters > 0 && at > 0; characters-- {
		_, size := utf8.DecodeLastRuneInString(line[:at])
		at -= size
	}
	return at
}

// Sort brings diagnostics into the order of the text and drops repeated ones.
func (d Diagnostics) Sort() Diagnostics {
	slices.SortStableFunc(d, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.CompactFunc(d, func(a, b Diagnostic) bool {
		return a.Line == b.Line && a.Column == b.Column && a.Text == b.Text
	})
}
