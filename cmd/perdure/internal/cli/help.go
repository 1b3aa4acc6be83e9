package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is the width at which help texts are written. They are wrapped again for a
// narrower terminal.
const helpWidth = 88

// fitHelp fits the help of all commands to the terminal.
func fitHelp(scr *screen, root *cobra.Command) {
	width := scr.stdout.Width()
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

// broken wraps the paragraphs of a text at a width. Lines that begin with a blank, such as
// those of a list, stay unchanged.
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
