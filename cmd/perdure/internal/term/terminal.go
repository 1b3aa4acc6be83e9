package term

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// Terminal is what is known about a stream that is written to.
type Terminal struct {
	Style
	// Moves says that the cursor can be moved, so that lines can be redrawn.
	Moves bool

	file *os.File
}

// Detect looks at a stream and the environment. Colours need a terminal and no
// objection: NO_COLOR, TERM=dumb and CI are respected.
func Detect(w io.Writer, getenv func(string) string) Terminal {
	file, ok := w.(*os.File)
	if !ok || !isatty.IsTerminal(file.Fd()) && !isatty.IsCygwinTerminal(file.Fd()) {
		return Terminal{}
	}
	t := Terminal{file: file, Moves: understands(file) && getenv("TERM") != "dumb"}
	t.Colours = t.Moves && getenv("NO_COLOR") == "" && getenv("CI") == ""
	return t
}

// Width is how many columns a line has, 0 if it is not known.
func (t Terminal) Width() int {
	if t.file == nil {
		return 0
	}
	return width(t.file)
}

// Known reports whether the stream is a terminal.
func (t Terminal) Known() bool { return t.file != nil }
