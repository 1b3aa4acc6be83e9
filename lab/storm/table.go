package storm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/human"
)

// header names the columns of a Table.
var header = []string{"scenario", "calls", "calls per task", "wasted", "peak /s", "after recovery /s", "drain", "succeeded", "failed", "p50", "p99"}

// Table prints the reports below each other, as a table of Markdown that can be
// read in a terminal as well. Numbers of calls are exact; times have three
// digits.
func Table(reports ...*Report) string {
	rows := [][]string{header}
	for _, r := range reports {
		rows = append(rows, cells(r))
	}
	return layOut(rows)
}

func cells(r *Report) []string {
	p50, p99 := "", ""
	if r.Succeeded > 0 {
		p50, p99 = duration(r.Latency.P50), duration(r.Latency.P99)
	}
	return []string{
		strings.ReplaceAll(r.Name, "|", `\|`), human.Count(r.Calls), strconv.FormatFloat(r.CallsPerTask(), 'f', 2, 64),
		human.Count(r.Wasted), human.Count(r.Peak), human.Count(r.PeakAfter), drain(r), human.Count(r.Succeeded), failures(r), p50, p99,
	}
}

// drain is the drain time, and a sign that it did not end.
func drain(r *Report) string {
	if r.Unsettled > 0 {
		return "> " + duration(r.Drain)
	}
	return duration(r.Drain)
}

// failures are the tasks without a success, with the reasons.
func failures(r *Report) string {
	var why []string
	for reason, n := range r.Reasons {
		why = append(why, fmt.Sprintf("%s %s", human.Count(n), reason))
	}
	slices.Sort(why)
	if r.Unsettled > 0 {
		why = append(why, human.Count(r.Unsettled)+" unsettled")
	}
	if len(why) == 0 {
		return "0"
	}
	return strings.Join(why, ", ")
}

// duration prints three digits of a time.
func duration(d time.Duration) string {
	unit := time.Nanosecond
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// layOut makes the columns equally wide.
func layOut(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	line := func(row []string, fill string) {
		for i, cell := range row {
			pad := strings.Repeat(fill, widths[i]-utf8.RuneCountInString(cell))
			fmt.Fprintf(&b, "|%s%s%s%s", fill, cell, pad, fill)
		}
		b.WriteString("|\n")
	}
	line(rows[0], " ")
	line(make([]string, len(widths)), "-")
	for _, row := range rows[1:] {
		line(row, " ")
	}
	return b.String()
}
