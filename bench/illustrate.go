package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure/bench/internal/report"
	"github.com/perdure/perdure/internal/chart"
)

// illustration is a picture of a page: bars of one metric, a group for each store and case.
type illustration struct {
	name     string // of its file and its markers
	workload string
	metric   string
	cases    []string
	chart    chart.Bars // without groups
}

var illustrations = []illustration{
	{name: "throughput", workload: "W1", metric: "workflows", cases: []string{""}, chart: chart.Bars{
		Title: "Throughput: workflows of 5 steps, 200 at once", Unit: "workflows/s",
		Note: "Every commit is synced. Lines: least to most of the rounds."}},
	{name: "latency", workload: "W2", metric: "p50", cases: []string{"1 activity", "10 activities"}, chart: chart.Bars{
		Title: "Latency: one workflow at a time, median from start to durable result", Unit: "ms",
		Note: "Every commit is synced. Lines: least to most of the rounds."}},
	{name: "lateness", workload: "W3", metric: "late p99", cases: []string{"200 workflows", "2,000 workflows"}, chart: chart.Bars{
		Title: "Retries on time: lateness after a backoff of 100 ms, 99th percentile", Unit: "ms",
		Note: "Lines: least to most of the rounds."}},
}

// stores are those of the pictures, with the names that readers know.
var stores = []struct{ key, name string }{{"sqlite", "SQLite"}, {"postgres", "PostgreSQL"}}

// drawn are the systems of the pictures, in the order of their bars.
var drawn = []string{"perdure", "floor", "River", "DBOS"}

// illustrate draws the pictures of a page, and writes them and their figures between its markers.
// What was not measured keeps its picture.
func illustrate(r report.Report, page string) error {
	raw, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	pictures := filepath.Join(filepath.Dir(page), "pictures")
	if err := os.Mkdir(pictures, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	text := string(raw)
	for _, i := range illustrations {
		t := r.Table(i.workload)
		if t == nil {
			continue
		}
		bars := i.chart
		bars.Names = drawn
		for _, store := range stores {
			for _, name := range i.cases {
				group := chart.Group{Name: strings.TrimSuffix(store.name+", "+name, ", ")}
				for _, system := range drawn {
					if median, least, most, ok := t.Figure(store.key, name, system, i.metric); ok {
						group.Bars = append(group.Bars, chart.Bar{Name: system, Value: median, Least: least, Most: most})
					}
				}
				if len(group.Bars) > 0 {
					bars.Groups = append(bars.Groups, group)
				}
			}
		}
		content := fmt.Sprintf("![%s](pictures/%s.svg)\n\n%s", bars.Text(), i.name, bars.Table())
		if text, err = report.Put(text, "figure:"+i.name, content); err != nil {
			return fmt.Errorf("%s: %w", page, err)
		}
		if err := os.WriteFile(filepath.Join(pictures, i.name+".svg"), []byte(bars.SVG()), 0o666); err != nil {
			return err
		}
	}
	if text, err = report.Put(text, "figure:short", short(r)); err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return os.WriteFile(page, []byte(text), 0o666)
}

// summary are the rows of the table that a page begins with.
var summary = []struct{ says, workload, name, metric, unit string }{
	{"workflows of 5 steps per second, 200 at once", "W1", "", "workflows", ""},
	{"CPU of one of them, database included", "W1", "", "CPU", "ms"},
	{"one workflow of one step, median", "W2", "1 activity", "p50", "ms"},
	{"1,000 steps in parallel, all together", "W4", "", "p50", "ms"},
	{"a retry after 100 ms, 200 at once, is late by (p99)", "W3", "200 workflows", "late p99", "ms"},
	{"after `kill -9` with 200 in flight, the first step runs after", "W7", "activities do nothing", "first activity", "ms"},
	{"20,000 workflows started at once hold at most", "W9", "all are run", "memory", "MiB"},
}

// short is the table that a page begins with.
func short(r report.Report) string {
	var b strings.Builder
	b.WriteString("| | SQLite | PostgreSQL |\n|---|--:|--:|\n")
	for _, s := range summary {
		t := r.Table(s.workload)
		if t == nil {
			continue
		}
		b.WriteString("| " + s.says + " |")
		for _, store := range stores {
			cell := ""
			if median, _, _, ok := t.Figure(store.key, s.name, "perdure", s.metric); ok {
				cell = strings.TrimSpace(chart.Number(median) + " " + s.unit)
			}
			b.WriteString(" " + cell + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}
