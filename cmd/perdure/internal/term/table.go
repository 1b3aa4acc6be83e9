package term

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/human"
)

// Table is lines with columns. Make one with its heads, add rows, write it.
type Table struct {
	heads []cell
	rows  [][]cell
	Style Style
	// Title stands above the heads. A table that has one is not written without rows.
	Title string
	// Indent stands before each line.
	Indent string
	// Width is how many columns a line may have, 0 for any number. In a table that is
	// wider texts that have a short form are shown in it, spare columns are left out and
	// named below it, and the longest texts are cut.
	Width int
	spare []string // heads, those to be left out first first
}

// cell is a text with its colour.
type cell struct {
	text   string
	short  string // where there is no room; empty: text
	colour Colour
	right  bool // flush right
}

// Either is a value with a form for tables that are too wide.
type Either struct{ Long, Short string }

// Spare names columns by their heads that are left out where there is no room for all, the first
// ones first.
func (t *Table) Spare(heads ...string) { t.spare = heads }

// NewTable makes a table with the heads of its columns. A tab before a head sets the column flush
// right, as numbers are.
func NewTable(style Style, heads ...string) *Table {
	t := &Table{Style: style}
	for _, h := range heads {
		name, right := strings.CutPrefix(h, "\t")
		t.heads = append(t.heads, cell{text: human.Escape(name), colour: Faint, right: right})
	}
	return t
}

// Row adds a row. A value is a string, which is escaped, an Either, or what Paint made.
func (t *Table) Row(values ...any) {
	row := make([]cell, len(values))
	for i, v := range values {
		switch v := v.(type) {
		case string:
			row[i] = cell{text: human.Escape(v)}
		case Painted:
			row[i] = cell{text: human.Escape(v.Text), colour: v.Colour}
		case Either:
			row[i] = cell{text: human.Escape(v.Long), short: human.Escape(v.Short)}
		}
		row[i].right = i < len(t.heads) && t.heads[i].right
	}
	t.rows = append(t.rows, row)
}

// Write writes heads and rows. Columns are as wide as their widest cell; the
// last one is not padded, and those without any text are left out. An error is left to the writer,
// as that of bufio, which has it until it is flushed.
func (t *Table) Write(w io.Writer) {
	if t.Title != "" && len(t.rows) == 0 {
		return
	}
	lines := t.withoutEmpty()
	widths := widthsOf(lines)
	var missing []string
	if t.Width > 0 && t.over(widths) > 0 {
		for _, row := range lines {
			for i := range row {
				row[i].text = cmp.Or(row[i].short, row[i].text)
			}
		}
		lines, missing = t.withoutSpare(lines)
		widths = widthsOf(lines)
		t.fit(widths)
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString("\n" + human.Escape(t.Title) + ":\n\n")
	}
	for _, row := range lines {
		for i := range row {
			if i < len(lines[0]) && lines[0][i].text == "ID" { // those of children differ at their ends
				row[i].text = ClipMiddle(row[i].text, widths[i])
			}
			row[i].text = Clip(row[i].text, widths[i])
		}
		t.line(&b, row, widths)
	}
	if len(missing) > 0 {
		b.WriteString(t.Indent + t.Style.Paint(Clip("(no room for "+strings.Join(missing, ", ")+": see -o json)", t.Width-Width(t.Indent)), Faint) + "\n")
	}
	_, _ = io.WriteString(w, b.String())
}

// widthsOf returns how wide the columns are.
func widthsOf(lines [][]cell) (widths []int) {
	for _, row := range lines {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(c.text))
		}
	}
	return widths
}

// over returns by how much a line is too long.
func (t *Table) over(widths []int) int {
	over := Width(t.Indent) - t.Width
	for i, w := range widths {
		over += w
		if i > 0 {
			over += 2 // blanks between columns
		}
	}
	return over
}

// roomy is how wide columns are at least while there are spare ones to leave out: the first
// one, with names that people copy, and the others.
var roomy = [2]int{32, 16}

// tight are the steps in which columns get narrower when that was not enough.
var tight = [][2]int{roomy, {24, 12}, {20, 10}, {1, 1}}

// need is how wide a column is to be.
func need(column, width int, least [2]int) int { return min(width, least[min(column, 1)]) }

// withoutSpare leaves out spare columns, as many as it takes for the others to have what they
// need.
func (t *Table) withoutSpare(lines [][]cell) (left [][]cell, missing []string) {
	for _, head := range t.spare {
		needs := widthsOf(lines)
		for i, w := range needs {
			needs[i] = need(i, w, roomy)
		}
		if t.over(needs) <= 0 {
			break
		}
		at := slices.IndexFunc(lines[0], func(c cell) bool { return c.text == head })
		if at < 0 {
			continue // it is empty
		}
		if head != "" {
			missing = append(missing, head)
		}
		for i, row := range lines {
			if at < len(row) {
				lines[i] = slices.Delete(row, at, at+1)
			}
		}
	}
	return lines, missing
}

// fit narrows columns until a line fits: of those that are wider than they need to be, the one
// with the most to spare.
func (t *Table) fit(widths []int) {
	over := t.over(widths)
	for _, least := range tight {
		for ; over > 0; over-- {
			widest, most := 0, 0
			for i, w := range widths { // of equal ones the last, which has the longest texts
				if more := w - need(i, w, least); more >= most {
					widest, most = i, more
				}
			}
			if most == 0 {
				break
			}
			widths[widest]--
		}
	}
}

// withoutEmpty returns heads and rows without the columns for which no row has anything to say,
// except the first one.
func (t *Table) withoutEmpty() [][]cell {
	used := map[int]bool{0: true}
	for _, row := range t.rows {
		for i, c := range row {
			used[i] = used[i] || c.text != ""
		}
	}
	var lines [][]cell
	for _, row := range append([][]cell{t.heads}, t.rows...) {
		var line []cell
		for i, c := range row {
			if used[i] {
				line = append(line, c)
			}
		}
		if row != nil { // a table may have no heads
			lines = append(lines, line)
		}
	}
	return lines
}

func (t *Table) line(b *strings.Builder, row []cell, widths []int) {
	last := len(row) - 1
	for last > 0 && row[last].text == "" {
		last-- // no trailing blanks
	}
	b.WriteString(t.Indent)
	for i, c := range row[:last+1] {
		blanks := strings.Repeat(" ", widths[i]-Width(c.text))
		if c.right {
			b.WriteString(blanks)
		}
		b.WriteString(t.Style.Paint(c.text, c.colour))
		if i == last {
			break
		}
		if !c.right {
			b.WriteString(blanks)
		}
		b.WriteString("  ")
	}
	b.WriteByte('\n')
}
