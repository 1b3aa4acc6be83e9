package workflow

import (
	"strings"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/core"
)

// SetStatus sets what listings and descriptions of the run say of where it stands,
// in the words of its own: "3 of 20 imported". It is for people; an empty text says
// nothing. It becomes visible when the turn is durable, costs no event of history,
// and stays when the run has ended. What is longer than 500 bytes is cut there, and
// what cannot be stored as text is replaced.
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
