package chart

import (
	"fmt"
	"math"
	"strings"
)

// Curves is a picture of values over time, on a logarithmic axis: what is shown differs by
// powers of ten.
type Curves struct {
	Title  string
	Text   string // what it shows, for who cannot see it
	X, Y   string // what the axes count
	Least  float64
	Most   float64 // the ends of the vertical axis, powers of ten
	Series []Series
	Spans  []Span
}

// Series is a curve: its value in each unit of time. Values below the axis are drawn at its foot.
type Series struct {
	Name   string
	Values []int
}

// Span is a stretch of time that is named in the picture.
type Span struct {
	Name     string
	From, To float64
}

// SVG draws the picture, with at most five series.
func (p Curves) SVG() string {
	const left, top, bottom, right = 84.0, 76.0, 320.0, width - 24.0
	var c canvas
	longest := 0
	for _, s := range p.Series {
		longest = max(longest, len(s.Values))
	}
	marks, end := ticks(float64(longest))
	x := func(v float64) float64 { return left + v/end*(right-left) }
	low, high := math.Log10(p.Least), math.Log10(p.Most)
	y := func(v float64) float64 {
		return bottom - (math.Log10(max(v, p.Least))-low)/(high-low)*(bottom-top)
	}
	c.text(20, 30, "title", p.Title)
	for _, s := range p.Spans {
		fmt.Fprintf(&c, "<rect class=\"s4 bar\" opacity=\"0.18\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\"/>\n", short(x(s.From)), short(top), short(x(s.To)-x(s.From)), short(bottom-top))
		c.text((x(s.From)+x(s.To))/2, top+16, "soft mid", s.Name)
	}
	for v := p.Least; v <= p.Most*1.001; v *= 10 {
		c.line(left, y(v), right, y(v), "grid")
		c.text(left-8, y(v)+4, "soft end", Number(v))
	}
	for _, v := range marks {
		c.text(x(v), bottom+18, "soft mid", Number(v))
	}
	c.line(left, bottom, right, bottom, "axis")
	c.text(right, bottom+36, "soft end", p.X)
	c.text(20, 54, "soft", p.Y)
	name := right
	for i := len(p.Series) - 1; i >= 0; i-- { // the names stand at the right, in the order of the series
		s := p.Series[i]
		name -= 7.2*float64(len(s.Name)) + 26
		fmt.Fprintf(&c, "<rect class=\"bar s%d\" x=\"%s\" y=\"45\" width=\"14\" height=\"10\"/>\n", i, short(name))
		c.text(name+19, 54, "", s.Name)
		c.WriteString("<path class=\"line s" + fmt.Sprint(i) + "\" d=\"" + steps(s.Values, x, y) + "\"/>\n")
	}
	return c.finish(bottom+50, p.Title, p.Text)
}

// steps is the path of a curve: a value holds for its unit of time.
func steps(values []int, x, y func(float64) float64) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			continue
		}
		if i == 0 {
			fmt.Fprintf(&b, "M%s %s", short(x(0)), short(y(float64(v))))
		} else {
			fmt.Fprintf(&b, "H%sV%s", short(x(float64(i))), short(y(float64(v))))
		}
	}
	fmt.Fprintf(&b, "H%s", short(x(float64(len(values)))))
	return b.String()
}
