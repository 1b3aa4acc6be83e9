package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/perdure/perdure/internal/human"
)

// width is that of all pictures; pages show them as wide as their text.
const width = 760

// style holds the colors. Series have the classes s0, s1, ... in the order of their names.
const style = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328}
.title{font-weight:600;font-size:15px}.group{font-weight:600;paint-order:stroke;stroke:#fff;stroke-width:5px}.soft{fill:#57606a}.end{text-anchor:end}.mid{text-anchor:middle}
.paper{fill:#fff;stroke:#d0d7de}.axis{stroke:#8c959f}.grid{stroke:#e6e9ed}
.s0{--c:#0969da}.s1{--c:#bc4c00}.s2{--c:#8250df}.s3{--c:#1a7f37}.s4{--c:#6e7781}
rect.bar{fill:var(--c)}path.line{fill:none;stroke:var(--c);stroke-width:2}.spread{stroke:#1f2328;stroke-width:1.2}
@media(prefers-color-scheme:dark){
text{fill:#e6edf3}.group{stroke:#0d1117}.soft{fill:#9aa4af}.paper{fill:#0d1117;stroke:#30363d}.axis{stroke:#7d8590}.grid{stroke:#21262d}
.s0{--c:#4493f8}.s1{--c:#f0883e}.s2{--c:#ab7df8}.s3{--c:#3fb950}.s4{--c:#9198a1}.spread{stroke:#e6edf3}}
</style>
`

// canvas collects the elements of a picture.
type canvas struct{ strings.Builder }

func (c *canvas) text(x, y float64, class, text string) {
	fmt.Fprintf(c, "<text x=\"%s\" y=\"%s\" class=\"%s\">%s</text>\n", short(x), short(y), class, html.EscapeString(text))
}

func (c *canvas) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(c, "<line x1=\"%s\" y1=\"%s\" x2=\"%s\" y2=\"%s\" class=\"%s\"/>\n", short(x1), short(y1), short(x2), short(y2), class)
}

// finish puts the elements on paper. The description is read to who cannot see them.
func (c *canvas) finish(height float64, title, description string) string {
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %s\" width=\"%[1]d\" height=\"%[2]s\" role=\"img\" aria-labelledby=\"t d\">\n<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n%s<rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%s\" rx=\"6\"/>\n%s</svg>\n",
		width, short(height), html.EscapeString(title), html.EscapeString(description), style, width-1, short(height-1), c.String())
}

// short writes a coordinate with one decimal at most.
func short(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// ticks are round values from zero to the end of an axis that holds the most.
func ticks(most float64) (values []float64, end float64) {
	step := math.Pow(10, math.Floor(math.Log10(most)))
	for _, finer := range []float64{1, 0.5, 0.25, 0.2} {
		if values = values[:0]; most/(step*finer) >= 4 || finer == 0.2 {
			step *= finer
			break
		}
	}
	end = math.Ceil(most/step-1e-9) * step
	for i := 0; float64(i)*step <= end+step/2; i++ {
		values = append(values, float64(i)*step)
	}
	return values, end
}

// Number writes a figure with three significant digits and commas, as tables have it.
func Number(v float64) string {
	text := Significant(v, 3)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Significant rounds a number to some significant digits, and writes all of them.
func Significant(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	unit := lastDigit(v, digits)
	v = math.Round(v/unit) * unit
	if math.Abs(v) >= 1000 {
		return human.Count(int(math.Round(v)))
	}
	unit = lastDigit(v, digits) // 9.99 may have become 10
	decimals := max(0, -int(math.Round(math.Log10(unit))))
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// lastDigit is the value of the last digit that counts.
func lastDigit(v float64, digits int) float64 {
	return math.Pow(10, math.Floor(math.Log10(math.Abs(v))+1e-9)-float64(digits-1))
}
