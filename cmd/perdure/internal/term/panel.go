package term

import (
	"fmt"
	"io"
	"strings"
)

// Panel is a few lines at the end of what is written, which are drawn again in
// place; what is said stays above them. It is for terminals on which the cursor
// moves.
type Panel struct {
	Out io.Writer
	Err error // of the first write that failed; nothing is written after it

	drawn int // lines that are on the screen
}

// Say writes a line that stays.
func (p *Panel) Say(line string) { p.write(p.erase() + line + "\n") }

// Draw draws the lines anew. None of them may be wider than the terminal: one that
// breaks could not be erased.
func (p *Panel) Draw(lines []string) {
	if up := p.erase(); len(lines) > 0 || up != "" {
		p.write(up + strings.Join(append(lines, ""), "\n"))
	}
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
