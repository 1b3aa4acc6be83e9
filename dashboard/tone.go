package dashboard

import "github.com/perdure/perdure/internal/wording"

// tone is the class of a state in the style sheet; a glyph and the word convey the same without
// colours.
func tone(state string) string { return string(wording.ToneOf(state)) }

// glyph returns the glyph of a state's tone.
func glyph(state string) string {
	return map[string]string{"good": "✓", "bad": "✕", "busy": "▶", "held": "‖", "wait": "○", "retry": "↻", "calm": "·"}[tone(state)]
}
