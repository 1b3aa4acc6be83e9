package chart

import (
	"fmt"
	"slices"
	"strings"
)

// Bars is a picture of horizontal bars from zero, in groups that share one axis.
type Bars struct {
	Title  string
	Unit   string   // of the values
	Note   string   // below the axis; "" for none
	Names  []string // of all bars, in the order of their colors
	Groups []Group
}

// Group is the bars below one heading.
type Group struct {
	Name string
	Bars []Bar
}

// Bar is one figure. Least and Most are drawn as its spread if they differ.
type Bar struct {
	Name               string
	Value, Least, Most float64
}

// figure is the value as text.
func (b Bar) figure(unit string) string { return strings.TrimSpace(Number(b.Value) + " " + unit) }

// names are those that the picture has, in their order.
func (b Bars) names() []string {
	return slices.DeleteFunc(slices.Clone(b.Names), func(name string) bool {
		return !slices.ContainsFunc(b.Groups, func(g Group) bool {
			return slices.ContainsFunc(g.Bars, func(bar Bar) bool { return bar.Name == name })
		})
	})
}

// Text says in a sentence what the picture shows, for who cannot see it.
func (b Bars) Text() string {
	var groups []string
	for _, g := range b.Groups {
		var bars []string
		for _, bar := range g.Bars {
			bars = append(bars, bar.Name+" "+bar.figure(b.Unit))
		}
		groups = append(groups, g.Name+": "+strings.Join(bars, ", "))
	}
	return b.Title + ". " + strings.Join(groups, "; ") + "."
}

// Table is the figures as a table of Markdown: a row a group, a column a name.
func (b Bars) Table() string {
	names := b.names()
	var t strings.Builder
	fmt.Fprintf(&t, "| %s | %s |\n|---%s|\n", b.Unit, strings.Join(names, " | "), strings.Repeat("|--:", len(names)))
	for _, g := range b.Groups {
		fmt.Fprintf(&t, "| %s |", g.Name)
		for _, name := range names {
			cell := ""
			for _, bar := range g.Bars {
				if bar.Name == name {
					cell = " " + Number(bar.Value)
				}
			}
			t.WriteString(cell + " |")
		}
		t.WriteString("\n")
	}
	return t.String()
}

const (
	rowHeight  = 24.0
	nameWidth  = 150.0 // left of the bars
	valueWidth = 110.0 // right of the longest
)

// SVG draws the picture.
func (b Bars) SVG() string {
	var c canvas
	most := 0.0
	for _, g := range b.Groups {
		for _, bar := range g.Bars {
			most = max(most, bar.Value, bar.Most)
		}
	}
	marks, end := ticks(most)
	at := func(v float64) float64 { return nameWidth + v/end*(width-nameWidth-valueWidth) }
	bottom := 56.0
	for _, g := range b.Groups {
		bottom += rowHeight*float64(len(g.Bars)+1) + 6
	}
	c.text(20, 30, "title", b.Title)
	for _, v := range marks {
		c.line(at(v), 48, at(v), bottom, "grid")
		c.text(at(v), bottom+18, "soft mid", Number(v))
	}
	c.text(width-20, 30, "soft end", b.Unit)
	y := 56.0
	for _, g := range b.Groups {
		c.text(20, y+16, "group", g.Name)
		y += rowHeight
		for _, bar := range g.Bars {
			c.text(nameWidth-10, y+16, "end", bar.Name)
			fmt.Fprintf(&c, "<rect class=\"bar s%d\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"16\"/>\n", slices.Index(b.Names, bar.Name), short(at(0)), short(y+3), short(max(at(bar.Value)-at(0), 1)))
			if bar.Most > bar.Least {
				c.line(at(bar.Least), y+11, at(bar.Most), y+11, "spread")
			}
			c.text(max(at(bar.Value), at(bar.Most))+8, y+16, "", Number(bar.Value))
			y += rowHeight
		}
		y += 6
	}
	c.line(at(0), 48, at(0), bottom, "axis")
	height := bottom + 34
	if b.Note != "" {
		c.text(20, height+6, "soft", b.Note)
		height += 22
	}
	return c.finish(height, b.Title, b.Text())
}
