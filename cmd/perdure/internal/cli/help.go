package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is how wide the texts of the help are written; a narrower terminal gets them
// broken anew.
const helpWidth = 88

// fitHelp makes the help of all commands fit the terminal.
func (a *app) fitHelp(root *cobra.Command) {
	width := a.stdout.Width()
	if width <= 0 {
		return
	}
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", fmt.Sprintf("Flags.FlagUsagesWrapped %d", width)))
	if width < helpWidth {
		breakHelp(root, width)
	}
}

func breakHelp(cmd *cobra.Command, width int) {
	cmd.Long = broken(cmd.Long, width)
	for _, sub := range cmd.Commands() {
		breakHelp(sub, width)
	}
}

// broken breaks the paragraphs of a text into lines of a width. Lines that begin with a blank, such as
// those of a list, stay as they are.
func broken(text string, width int) string {
	var out, paragraph []string
	flush := func() {
		if paragraph != nil {
			out = append(out, wrap(strings.Join(paragraph, " "), width)...)
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && line[0] != ' ' {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		out = append(out, line)
	}
	flush()
	return strings.Join(out, "\n")
}
