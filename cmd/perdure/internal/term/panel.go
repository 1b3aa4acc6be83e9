package term

import (
	"cmp"
	"fmt"
	"io"

	"github.com/perdure/perdure/internal/human"
)

// Panel is a few lines at the end of what is written, which are drawn again in
// place; what is said stays above them. It is for terminals on which the cursor
// moves.
type Panel struct {
	Out      io.Writer
	Terminal Terminal // what Out is
	Err      error    // of the first write that failed; nothing is written after it

	drawn int // lines that are on the screen
}

// Say writes a line that stays, formatted by Sprintf.
func (p *Panel) Say(format string, args ...any) {
	p.write(p.erase() + Sprintf(p.Terminal.Style, format, args...) + "\n")
}

// Draw draws the lines again, escaped. What is wider than the terminal is cut: a
// line that breaks could not be erased.
func (p *Panel) Draw(lines []string) {
	up := p.erase()
	if len(lines) == 0 && up == "" {
		return
	}
	columns := cmp.Or(p.Terminal.Width(), 80)
	for _, line := range lines {
		up += Clip(human.Escape(line), max(columns-1, 1)) + "\n"
	}
	p.write(up)
	p.drawn = len(lines)
}

// Clear removes the lines.
func (p *Panel) Clear() { p.write(p.erase()) }

// erase is what takes the lines off the screen.
func (p *Panel) erase() string {
	if p.drawn == 0 {
		return ""
	}
	up := fmt.Sprintf("\x1b[%dA\r\x1b[J", p.drawn)
	p.drawn = 0
	return up
}

func (p *Panel) write(text string) {
	if p.Err == nil && text != "" {
		_, p.Err = io.WriteString(p.Out, text)
	}
}
