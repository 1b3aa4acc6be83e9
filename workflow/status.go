package workflow

import (
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/core"
)

// SetStatus sets a text that listings and descriptions of the run show to people, such as
// "3 of 20 imported". An empty text removes it. It becomes visible when the turn is
// durable, adds no event to the history, and stays when the run has ended. A text of more
// than 500 bytes is cut, and bytes that cannot be stored as text are replaced.
func SetStatus(wf *Context, text string) {
	wf.enter()
	wf.instance.run.Say(storable(text))
}

// storable makes a text that every database can keep.
func storable(text string) string {
	const mark = "…"
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
	if len(text) <= core.MaxSays {
		return text
	}
	cut := core.MaxSays - len(mark)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + mark
}
