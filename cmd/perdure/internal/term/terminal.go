package term

import (
	"io"
	"os"
	"strconv"

	"github.com/mattn/go-isatty"
)

// Terminal is what is known about a stream that is written to.
type Terminal struct {
	Style
	// Moves says that the cursor can be moved, so that lines can be redrawn.
	Moves bool

	file    *os.File
	columns int // that the environment asks for
}

// Detect looks at a stream and the environment. Colours need a terminal and no
// objection: NO_COLOR, TERM=dumb and CI are respected. COLUMNS sets the width, even of
// what is no terminal.
func Detect(w io.Writer, getenv func(string) string) Terminal {
	columns, _ := strconv.Atoi(getenv("COLUMNS"))
	file, ok := w.(*os.File)
	if !ok || !isatty.IsTerminal(file.Fd()) && !isatty.IsCygwinTerminal(file.Fd()) {
		return Terminal{columns: columns}
	}
	t := Terminal{file: file, columns: columns, Moves: understands(file) && getenv("TERM") != "dumb"}
	t.Colours = t.Moves && getenv("NO_COLOR") == "" && getenv("CI") == ""
	return t
}

// Width is how many columns a line has, 0 if it is not known.
func (t Terminal) Width() int {
	if t.columns > 0 {
		return t.columns
	}
	if t.file == nil {
		return 0
	}
	return width(t.file)
}

// Known reports whether the stream is a terminal.
func (t Terminal) Known() bool { return t.file != nil }
