package cli

import (
	"strings"
	"time"

	"github.com/perdure/perdure/retry"
)

// exactly is a duration to the millisecond, where term.Duration would round more:
// schedules are compared. Shorter ones are exact.
func exactly(d time.Duration) string {
	if d == retry.Forever {
		return "no end"
	}
	if d >= time.Millisecond {
		d = d.Round(time.Millisecond)
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// wrap breaks a text into lines of at most some characters, at blanks.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
