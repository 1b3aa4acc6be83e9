package cli

import (
	"strings"
	"time"

	"github.com/perdure/perdure/internal/human"
	"github.com/perdure/perdure/retry"
)

// exactly formats a duration for comparison.
func exactly(d time.Duration) string {
	if d == retry.Forever {
		return "no end"
	}
	return human.Exact(d)
}

// wrap breaks a text at blanks into lines of at most width characters.
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
