package readme

import (
	"fmt"
	"regexp"
	"strings"
)

// block is a fenced block of a page.
type block struct {
	line     int    // of its fence
	language string // after the fence
	text     string
	file     string // that the paragraph before it says to put it into
	proof    string // a test that proves it elsewhere
	excuse   string // why it is not run
}

var (
	fileNamed = regexp.MustCompile("into `([a-z_.]+)`")
	proved    = regexp.MustCompile(`^<!-- proved by (Test\w+) -->$`)
	excused   = regexp.MustCompile(`^<!-- not run: (.+) -->$`)
)

// parse returns the blocks of a page in their order.
func parse(page string) ([]block, error) {
	var blocks []block
	var open *block
	var next block // what is known of the next one
	for i, line := range strings.Split(page, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case open != nil && isFence:
			blocks, open, next = append(blocks, *open), nil, block{}
		case open != nil:
			open.text += line + "\n"
		case isFence:
			next.line, next.language = i+1, fence
			open = &next
		case proved.MatchString(line):
			next.proof = proved.FindStringSubmatch(line)[1]
		case excused.MatchString(line):
			next.excuse = excused.FindStringSubmatch(line)[1]
		case fileNamed.MatchString(line):
			next.file = fileNamed.FindStringSubmatch(line)[1]
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block does not end", open.line)
	}
	return blocks, nil
}

// figure is what differs from one time and place to the next: a number with its unit, a
// date, a name that a number makes.
var figure = regexp.MustCompile(`[\w.:/+-]*[0-9][\w.:/+%µ-]*`)

// shape is an output without what may differ: figures, and the width of columns.
func shape(output string) string {
	var lines []string
	for line := range strings.Lines(figure.ReplaceAllString(output, "#")) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}
