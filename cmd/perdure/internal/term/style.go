package term

// Colour is what a text means; a Style decides how that looks.
type Colour int

// The colours.
const (
	Plain Colour = iota
	Good
	Bad
	Busy
	Faint
	Strong
)

var codes = map[Colour]string{Good: "32", Bad: "31", Busy: "33", Faint: "2", Strong: "1"}

// Style is how texts are decorated. The zero Style is plain text.
type Style struct{ Colours bool }

// Paint gives a text its colour, if this style has any.
func (s Style) Paint(text string, c Colour) string {
	code := codes[c]
	if !s.Colours || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Painted is a text with a colour, for a cell of a table or an argument of Sprintf.
type Painted struct {
	Text   string
	Colour Colour
}

// String returns the text without the colour.
func (p Painted) String() string { return p.Text }
