package command

import (
	"strings"

	"github.com/perdure/perdure/internal/human"
)

// Shell is the command line that does the command to what has a name, with the parameters that
// are given, but for a dry run. It is empty where the command line is of another form.
func (c *Command) Shell(name string, params any, more ...string) string {
	if c.On == Canary {
		return ""
	}
	words := append([]string{"perdure", c.Line(), human.ShellWord(name)}, more...)
	var flags []string
	for _, p := range c.Takes() {
		switch text := p.Text(params); {
		case p.Flag == "dry-run" || !p.Given(params) || text == p.Default && text != "":
		case p.Arg != "":
			words = append(words, human.ShellWord(text))
		case p.Flag == "-":
		case p.Check() && text != "":
			flags = append(flags, "--"+p.Flag)
		case p.Check():
			flags = append(flags, "--"+p.Flag+"=false")
		case p.Number() && text == "": // it is given, and 0
			flags = append(flags, "--"+p.Flag, "0")
		case text == "":
			flags = append(flags, "--"+p.Flag, "''")
		default:
			for line := range p.Lines(text) {
				flags = append(flags, "--"+p.Flag, human.ShellWord(strings.TrimSuffix(line, "\n")))
			}
		}
	}
	return strings.Join(append(words, flags...), " ")
}
