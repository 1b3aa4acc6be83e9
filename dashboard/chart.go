package dashboard

import (
	"fmt"
	"strconv"
	"time"

	"github.com/perdure/perdure/internal/human"
)

// maxSpans is the maximum number of bars in a chart over time.
const maxSpans = 36

// widths are the time spans of a bar: lengths that people think in.
var widths = []time.Duration{
	time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day, 364 * day,
}

const day = 24 * time.Hour

// timeSpans is a time divided into equal spans, one per bar of a chart.
type timeSpans struct {
	begin time.Time
	width time.Duration
	n     int
}

// spansOf divides the time between two times into a few spans that begin at round times.
func spansOf(from, to time.Time) timeSpans {
	for _, width := range widths {
		if t := (timeSpans{from.Truncate(width), width, 0}); to.Sub(t.begin) <= maxSpans*width {
			t.n = max(int((to.Sub(t.begin)+width-1)/width), 1)
			return t
		}
	}
	width := to.Sub(from)/maxSpans + 1
	return timeSpans{from, width, maxSpans}
}

// span returns when span i begins and ends.
func (t *timeSpans) span(i int) (from, to time.Time) {
	from = t.begin.Add(time.Duration(i) * t.width)
	return from, from.Add(t.width)
}

// per returns the time of one bar for a title, such as "per hour" and "per 15m".
func per(width time.Duration) string {
	switch width {
	case time.Second:
		return "per second"
	case time.Minute:
		return "per minute"
	case time.Hour:
		return "per hour"
	case day:
		return "per day"
	}
	if width%day == 0 {
		return fmt.Sprintf("per %d days", width/day)
	}
	return "per " + human.Exact(width)
}

// label returns the time at which span i begins.
func (t *timeSpans) label(i int) string {
	from, _ := t.span(i)
	switch {
	case t.width >= day:
		return from.Local().Format("Jan 2")
	case time.Duration(t.n)*t.width > day:
		return from.Local().Format("Jan 2 15:04")
	case t.width < time.Minute:
		return from.Local().Format("15:04:05")
	}
	return from.Local().Format("15:04")
}

// barChart shows counts over time, or side by side. Everything drawn is also there as text.
type barChart struct {
	Title  string
	Says   string // the chart in words
	Height int
	Bars   []rectangle
	Labels []chartLabel
	Rows   []chartRow // the chart as a table; empty if Says is enough
	Heads  []string
	Key    []chartKey // meaning of the colours; empty for a single series
}

// rectangle is a part of a drawing. Horizontal positions and widths are percent, the rest pixels.
type rectangle struct {
	Tone       string
	X, Y, W, H string
	Says       string
}

type chartKey struct{ Tone, Name string }

type chartLabel struct{ X, Anchor, Text string }

type chartRow struct {
	Name   string
	Values []string
}

// series are counts per span.
type series struct {
	name, tone string
	counts     []int
}

func hundredths(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }

func percent(x float64) string { return hundredths(x) + "%" }

// draw draws series of counts over time, side by side in each span.
func (t *timeSpans) draw(title, noun string, height int, all ...series) *barChart {
	c := &barChart{Title: title, Height: height, Heads: []string{"From"}}
	highest, sum, top, at := 0, 0, 0, 0
	for _, s := range all {
		if c.Heads = append(c.Heads, s.name); len(all) > 1 {
			c.Key = append(c.Key, chartKey{s.tone, s.name})
		}
		for i, n := range s.counts {
			highest = max(highest, n)
			sum += n
			if n > top {
				top, at = n, i
			}
		}
	}
	slot := 100 / float64(t.n)
	each := slot * 0.86 / float64(len(all))
	for i := range t.n {
		row := chartRow{Name: t.label(i)}
		empty := true
		for k, s := range all {
			n := s.counts[i]
			row.Values = append(row.Values, human.Count(n))
			if n == 0 {
				continue
			}
			empty = false
			h := max(2, float64(n)*float64(height)/float64(highest))
			says := fmt.Sprintf("%s: %s", t.label(i), human.Count(n))
			if len(all) > 1 {
				says = fmt.Sprintf("%s, %s: %s", t.label(i), s.name, human.Count(n))
			}
			c.Bars = append(c.Bars, rectangle{s.tone, percent(slot*float64(i) + slot*0.07 + each*float64(k)), hundredths(float64(height) - h), percent(each), hundredths(h), says})
		}
		if !empty {
			c.Rows = append(c.Rows, row)
		}
	}
	c.Says = fmt.Sprintf("%s: none", title)
	if sum > 0 {
		c.Title = fmt.Sprintf("%s, at most %s", title, human.Count(top))
		c.Says = fmt.Sprintf("%s: the most are %s %s from %s on", title, human.Count(top), noun, t.label(at))
	}
	switch first, last := (chartLabel{percent(0), "start", t.label(0)}), (chartLabel{percent(100), "end", t.label(t.n - 1)}); {
	case t.n == 1:
		c.Labels = []chartLabel{last}
	case t.n < 5:
		c.Labels = []chartLabel{first}
	default:
		c.Labels = []chartLabel{first, {percent(slot * (float64(t.n/2) + 0.5)), "middle", t.label(t.n / 2)}, last}
	}
	return c
}

// shares draws parts of a whole as one bar.
func shares(parts []share) *barChart {
	total := 0
	for _, p := range parts {
		total += p.n
	}
	c := &barChart{Height: 10}
	if total == 0 {
		return c
	}
	x := 0.0
	for _, p := range parts {
		if p.n == 0 {
			continue
		}
		w := 100 * float64(p.n) / float64(total)
		says := human.Count(p.n) + " " + p.name
		c.Bars = append(c.Bars, rectangle{p.tone, percent(x), "0", percent(max(w, 0.8)), "10", says})
		if c.Says != "" {
			c.Says += ", "
		}
		c.Says += says
		x += w
	}
	return c
}

type share struct {
	name, tone string
	n          int
}
