package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestNumbersAreWrittenAsInTables(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.2214: "0.221", 0.5: "0.5", 3.03: "3.03", 23.74: "23.7", 145: "145", 999.9: "1,000", 44218: "44,200", 1e6: "1,000,000"} {
		if got := Number(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}

func TestSignificant(t *testing.T) {
	for _, c := range []struct {
		v      float64
		digits int
		want   string
	}{
		{0, 3, "0"}, {1, 3, "1.00"}, {0.25, 2, "0.25"}, {0.0241999, 3, "0.0242"}, {0.0999999, 3, "0.100"},
		{9.996, 3, "10.0"}, {99.96, 3, "100"}, {345.6, 3, "346"}, {345.6, 2, "350"}, {34567, 3, "34,600"}, {999.96, 3, "1,000"}, {-12.34, 3, "-12.3"},
	} {
		if got := Significant(c.v, c.digits); got != c.want {
			t.Errorf("Significant(%v, %d) = %q, want %q", c.v, c.digits, got, c.want)
		}
	}
}

func TestAxesEndAboveTheMost(t *testing.T) {
	for _, most := range []float64{0.3, 1, 3.7, 9.9, 10, 23.9, 162, 46_000} {
		marks, end := ticks(most)
		if end < most || end > 1.5*most || len(marks) < 4 || len(marks) > 12 || marks[0] != 0 || math.Abs(marks[len(marks)-1]-end) > end/1e6 {
			t.Errorf("the axis of %v has the marks %v and ends at %v", most, marks, end)
		}
	}
}

// TestPicturesSayTheirNumbers: a picture is well-formed, follows light and dark, and has its
// figures and names as text, escaped.
func TestPicturesSayTheirNumbers(t *testing.T) {
	bars := Bars{Title: "A < B", Unit: "ms", Names: []string{"x & y", "unused", "z"}, Groups: []Group{{Name: "one", Bars: []Bar{{Name: "x & y", Value: 1234, Least: 1200, Most: 1300}, {Name: "z", Value: 0.5}}}}}
	curves := Curves{Title: "A < B", Text: "1,234 & 0.5", Least: 1, Most: 1000, Series: []Series{{Name: "x & y", Values: []int{0, 5, 5, 900}}}, Spans: []Span{{Name: "z", From: 1, To: 2}}}
	for _, svg := range []string{bars.SVG(), curves.SVG()} {
		var text strings.Builder
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, svg)
			}
			if chars, is := token.(xml.CharData); is {
				text.Write(chars)
			}
		}
		for _, want := range []string{"A < B", "x & y", "z", "prefers-color-scheme:dark", "prefers-color-scheme:dark"} {
			if !strings.Contains(text.String(), want) {
				t.Errorf("the picture does not say %q:\n%s", want, svg)
			}
		}
	}
	if want := "| ms | x & y | z |\n|---|--:|--:|\n| one | 1,230 | 0.5 |\n"; bars.Table() != want {
		t.Errorf("the table is\n%swant\n%s", bars.Table(), want)
	}
	if want := "A < B. one: x & y 1,230 ms, z 0.5 ms."; bars.Text() != want {
		t.Errorf("the text is %q, want %q", bars.Text(), want)
	}
}
