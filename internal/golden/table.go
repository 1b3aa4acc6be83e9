package golden

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/retry"
)

// Table is the table: its cases and, for rewriting it, what stands between
// them.
type Table struct {
	Cases []*Case

	blocks []block
}

// block is either a line that is kept as it is or a case.
type block struct {
	text string
	c    *Case
	in   *caseInput
}

// caseInput is the input of a case as it was written.
type caseInput struct {
	head     []string // the lines before the attempts
	attempts []string // left of the arrow
}

// Path returns the file of the table. It looks for it from the working
// directory upwards, so that the tests of any package find it.
func Path() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(dir, "retry", "testdata", "decisions.golden")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("retry/testdata/decisions.golden was not found in the working directory or above it")
		}
		dir = parent
	}
}

// Load reads the table.
func Load() (*Table, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(string(data))
}

// Parse reads a table from its text. Errors name the line.
func Parse(text string) (*Table, error) {
	t, names := &Table{}, map[string]bool{}
	var c *Case
	var in *caseInput
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		line = strings.TrimSpace(line)
		fail := func(err error) error { return fmt.Errorf("line %d: %w", i+1, err) }
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			c = nil
			t.blocks = append(t.blocks, block{text: line})
			continue
		case word == "case":
			if names[rest] {
				return nil, fail(fmt.Errorf("there are two cases named %q", rest))
			}
			names[rest] = true
			c, in = &Case{Name: rest, CancelAt: NotCanceled}, &caseInput{head: []string{line}}
			t.Cases = append(t.Cases, c)
			t.blocks = append(t.blocks, block{c: c, in: in})
			continue
		case c == nil:
			return nil, fail(fmt.Errorf("%q stands outside of a case", line))
		}
		if err := parseLine(c, in, word, rest, line); err != nil {
			return nil, fail(err)
		}
	}
	return t, nil
}

// parseLine reads one line of a case.
func parseLine(c *Case, in *caseInput, word, rest, line string) (err error) {
	switch word {
	case "policy":
		in.head = append(in.head, line)
		if err := json.Unmarshal([]byte(rest), &c.Policy); err != nil {
			return err
		}
		return c.Policy.Validate()
	case "cancel":
		in.head = append(in.head, line)
		c.CancelAt, err = time.ParseDuration(strings.TrimPrefix(rest, "at "))
		return err
	case "engine":
		in.head = append(in.head, line)
		c.EngineOnly = true
		return nil
	case "attempt":
		left, right, judged := strings.Cut(rest, "->")
		left = strings.TrimSpace(left)
		in.attempts = append(in.attempts, left)
		a, err := parseAttempt(left)
		if err != nil {
			return err
		}
		c.Attempts = append(c.Attempts, a)
		if judged {
			j, err := parseJudgment(strings.Fields(right))
			if err != nil {
				return err
			}
			c.Want.Judgments = append(c.Want.Judgments, j)
		}
		return nil
	case "starts":
		for _, field := range strings.Fields(rest) {
			d, err := time.ParseDuration(field)
			if err != nil {
				return err
			}
			c.Want.Starts = append(c.Want.Starts, d)
		}
		return nil
	case "end":
		c.Want.End = rest
		return nil
	}
	return fmt.Errorf("a line cannot begin with %q", word)
}

// parseAttempt reads the input of an attempt.
func parseAttempt(text string) (Attempt, error) {
	a := Attempt{U: 0.5}
	// An outcome may contain spaces, but only within parentheses.
	end, depth := len(text), 0
	for i, c := range text {
		if c == '(' {
			depth++
		} else if c == ')' {
			depth--
		} else if c == ' ' && depth == 0 {
			end = i
			break
		}
	}
	a.Outcome = text[:end]
	if a.Fails() {
		if _, err := parseError(a.Outcome, time.Time{}); err != nil {
			return a, err
		}
	}
	fields := strings.Fields(text[end:])
	for len(fields) > 0 {
		word := fields[0]
		fields = fields[1:]
		switch word {
		case "denied":
			a.Denied = true
			continue
		case "probe":
			a.Probe = true
			continue
		}
		if len(fields) == 0 {
			return a, fmt.Errorf("%q lacks its value", word)
		}
		if err := a.set(word, fields[0]); err != nil {
			return a, err
		}
		fields = fields[1:]
	}
	return a, nil
}

// set reads one word of an attempt's input and its value.
func (a *Attempt) set(word, value string) (err error) {
	switch word {
	case "took":
		a.Took, err = time.ParseDuration(value)
	case "u":
		a.U, err = strconv.ParseFloat(value, 64)
	case "beats":
		for _, field := range strings.Split(value, ",") {
			beat, err := time.ParseDuration(field)
			if err != nil {
				return err
			}
			a.Beats = append(a.Beats, beat)
		}
	default:
		err = fmt.Errorf("%q is not a word of an attempt", word)
	}
	return err
}

// parseJudgment reads what follows a failed attempt.
func parseJudgment(words []string) (j Judgment, err error) {
	j.Rule = -1
	if n := len(words); n > 2 && words[n-2] == "rule" {
		if j.Rule, err = strconv.Atoi(words[n-1]); err != nil {
			return j, err
		}
		words = words[:n-2]
	}
	switch {
	case len(words) == 3 && words[0] == string(Retry):
		j.Delay, err = time.ParseDuration(words[1])
	case len(words) != 2:
		err = fmt.Errorf("%q is not a judgment", strings.Join(words, " "))
	}
	if err != nil {
		return j, err
	}
	j.Action, j.Reason = Action(words[0]), retry.Reason(words[len(words)-1])
	return j, nil
}

// Format prints the table with the Want of its cases as expectation.
func (t *Table) Format() string {
	var b strings.Builder
	for _, block := range t.blocks {
		if block.c == nil {
			fmt.Fprintln(&b, block.text)
			continue
		}
		for _, line := range block.in.head {
			fmt.Fprintln(&b, line)
		}
		width := 0
		for _, left := range block.in.attempts {
			width = max(width, len(left))
		}
		for i, left := range block.in.attempts {
			if i < len(block.c.Want.Judgments) {
				fmt.Fprintf(&b, "attempt %-*s -> %s\n", width, left, block.c.Want.Judgments[i])
			} else {
				fmt.Fprintf(&b, "attempt %s\n", left)
			}
		}
		fmt.Fprintf(&b, "starts%s\nend %s\n", formatList(block.c.Want.Starts), block.c.Want.End)
	}
	return b.String()
}

// formatList prints durations, each after a space.
func formatList(durations []time.Duration) string {
	var b strings.Builder
	for _, d := range durations {
		b.WriteString(" " + d.String())
	}
	return b.String()
}
