package cli

import (
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/term"
)

// wrap breaks a text at blanks into lines of at most width columns.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && term.Width(line)+1+term.Width(word) > width {
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
