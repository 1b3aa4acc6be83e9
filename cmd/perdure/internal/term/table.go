package term

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/human"
)

// Table is lines with columns. Make one with its heads, add rows, write it.
type Table struct {
	heads []string
	right map[int]bool // columns of numbers
	rows  [][]cell
	Style Style
	// Indent stands before each line.
	Indent string
	// Width is how many columns a line may have, 0 for any number. In a table that is
	// wider the longest texts are cut.
	Width int
}

// cell is a text with its colour.
type cell struct {
	text   string
	colour Colour
}

// Right sets columns, from 0, flush right.
func (t *Table) Right(columns ...int) {
	if t.right == nil {
		t.right = map[int]bool{}
	}
	for _, c := range columns {
		t.right[c] = true
	}
}

// NewTable makes a table with the heads of its columns.
func NewTable(style Style, heads ...string) *Table { return &Table{Style: style, heads: heads} }

// Row adds a row. A value is a string, which is escaped, or what Paint made.
func (t *Table) Row(values ...any) {
	row := make([]cell, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case string:
			row[i] = cell{text: human.Escape(v)}
		case Painted:
			row[i] = cell{human.Escape(v.Text), v.Colour}
		}
	}
	t.rows = append(t.rows, row)
}

// Write writes heads and rows. Columns are as wide as their widest cell; the
// last one is not padded, and those without any text are left out.
func (t *Table) Write(w io.Writer) error {
	head := make([]cell, len(t.heads))
	for i, h := range t.heads {
		head[i] = cell{h, Faint}
	}
	lines := t.rows
	if len(head) > 0 {
		lines = append([][]cell{head}, t.rows...)
	}
	lines = t.withoutEmpty(lines)
	var widths []int
	for _, row := range lines {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	t.fit(widths)
	var b strings.Builder
	for _, row := range lines {
		for i := range row {
			row[i].text = human.Clip(row[i].text, widths[i])
		}
		t.line(&b, row, widths)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// fit narrows the widest columns until a line fits.
func (t *Table) fit(widths []int) {
	if t.Width <= 0 {
		return
	}
	over := utf8.RuneCountInString(t.Indent) - t.Width
	for i, w := range widths {
		over += w
		if i > 0 {
			over += 2 // blanks between columns
		}
	}
	for ; over > 0; over-- {
		widest := 0
		for i, w := range widths {
			if w >= widths[widest] { // of equal ones the last, which has the longest texts
				widest = i
			}
		}
		if widths[widest] <= 1 {
			return
		}
		widths[widest]--
	}
}

// withoutEmpty leaves out the columns for which no row has anything to say, except
// the first one.
func (t *Table) withoutEmpty(lines [][]cell) [][]cell {
	used := map[int]bool{0: true}
	for _, row := range t.rows {
		for i, c := range row {
			used[i] = used[i] || c.text != ""
		}
	}
	right := map[int]bool{}
	out := make([][]cell, len(lines))
	for n, row := range lines {
		for i, c := range row {
			if used[i] {
				if t.right[i] {
					right[len(out[n])] = true
				}
				out[n] = append(out[n], c)
			}
		}
	}
	t.right = right
	return out
}

func (t *Table) line(b *strings.Builder, row []cell, widths []int) {
	last := len(row) - 1
	for last > 0 && row[last].text == "" {
		last-- // no trailing blanks
	}
	b.WriteString(t.Indent)
	for i, c := range row[:last+1] {
		blanks := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
		if t.right[i] {
			b.WriteString(blanks)
		}
		b.WriteString(t.Style.Paint(c.text, c.colour))
		if i == last {
			break
		}
		if !t.right[i] {
			b.WriteString(blanks)
		}
		b.WriteString("  ")
	}
	b.WriteByte('\n')
}
