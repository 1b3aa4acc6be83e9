package report

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/internal/chart"
)

// Markdown writes a table with aligned columns, readable as it is.
func (t *Table) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", t.About)
	if t.Rounds > 1 {
		fmt.Fprintf(&b, "Medians of %d rounds, (least to most).\n\n", t.Rounds)
	}
	writeGrid(&b, t.grid())
	for _, r := range t.sorted() {
		if len(r.Notes) > 0 {
			fmt.Fprintf(&b, "\n%s on %s", r.System, r.Store)
			if r.Case != "" {
				fmt.Fprintf(&b, ", %s", r.Case)
			}
			b.WriteString(":\n\n")
		}
		for _, note := range r.Notes {
			fmt.Fprintf(&b, "- %s\n", note)
		}
	}
	return b.String()
}

// grid is the table cell by cell, the header first; columns without content are
// left out.
func (t *Table) grid() [][]string {
	rows := t.sorted()
	columns := [][]string{t.names(rows, "store", func(r *Row) string { return r.Store })}
	columns = append(columns, t.names(rows, "case", func(r *Row) string { return r.Case }))
	columns = append(columns, t.names(rows, "system", func(r *Row) string { return r.System }))
	for _, m := range t.Metrics {
		columns = append(columns, t.names(rows, strings.TrimSpace(m.Name+" "+m.Unit), func(r *Row) string {
			s, ok := r.of(m.Name)
			return cell(s, ok, number3)
		}))
		if !m.Compare {
			continue
		}
		for _, name := range t.Against {
			columns = append(columns, t.names(rows, m.Name+" ÷ "+name, func(r *Row) string {
				other := t.row(r.Store, r.Case, name)
				if other == nil || other == r {
					return ""
				}
				s, ok := r.against(other, m.Name)
				return cell(s, ok, number2)
			}))
		}
	}
	return transposed(columns)
}

// names makes a column; nil if it says nothing.
func (t *Table) names(rows []*Row, header string, of func(*Row) string) []string {
	column, empty := []string{header}, true
	for _, r := range rows {
		text := of(r)
		empty = empty && text == ""
		column = append(column, text)
	}
	if empty {
		return nil
	}
	return column
}

func cell(s spread, ok bool, format func(float64) string) string {
	switch {
	case !ok:
		return ""
	case s.least == s.most:
		return format(s.median)
	}
	return fmt.Sprintf("%s (%s–%s)", format(s.median), format(s.least), format(s.most))
}

func number2(v float64) string { return chart.Significant(v, 2) }

func number3(v float64) string { return chart.Significant(v, 3) }

func transposed(columns [][]string) [][]string {
	var grid [][]string
	for _, column := range columns {
		for i, text := range column {
			if i == len(grid) {
				grid = append(grid, nil)
			}
			grid[i] = append(grid[i], text)
		}
	}
	return grid
}

// writeGrid writes a Markdown table whose columns are aligned as text as well.
func writeGrid(b *strings.Builder, grid [][]string) {
	if len(grid) == 0 {
		return
	}
	widths := make([]int, len(grid[0]))
	for _, row := range grid {
		for i, text := range row {
			widths[i] = max(widths[i], len([]rune(text)))
		}
	}
	line := func(row []string, fill string) {
		for i, text := range row {
			b.WriteString("|" + fill + text + strings.Repeat(fill, widths[i]-len([]rune(text))) + fill)
		}
		b.WriteString("|\n")
	}
	line(grid[0], " ")
	line(make([]string, len(widths)), "-")
	for _, row := range grid[1:] {
		line(row, " ")
	}
}
