package shop

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxRecordLines is how many lines a record may take: more than any address has,
// and few enough that a stray quote does not swallow the orders behind it.
const maxRecordLines = 16

// readCSV reads comma, semicolon or tab separated orders, whichever separates
// the header. An error means that the header is unusable.
func readCSV(data []byte, c *collector) error {
	pos, number := 0, 1
	var header []byte
	for {
		var next int
		header, next = nextLine(data, pos)
		pos = next
		if len(bytes.TrimSpace(header)) > 0 {
			break
		}
		number++
	}
	separator := guessSeparator(header)
	columns, err := readHeader(header, separator)
	if err != nil {
		return fmt.Errorf("line %d: %w", number, err)
	}

	for pos < len(data) && !c.full() {
		number++
		line, next := nextLine(data, pos)
		if len(bytes.TrimSpace(line)) == 0 {
			pos = next
			continue
		}
		values, end, problem := readRecord(data, pos, separator, len(columns))
		if problem != "" {
			c.fault(number, "", problem)
			pos = next
			continue
		}
		fields := map[string]*field{}
		for i, column := range columns {
			fields[column] = &field{text: values[i], kind: "text"}
		}
		c.add(number, fields)
		number += bytes.Count(data[pos:end], []byte("\n")) - bytes.Count(data[pos:next], []byte("\n"))
		pos = end
	}
	return nil
}

func guessSeparator(header []byte) rune {
	best := ','
	for _, separator := range []rune{';', '\t'} {
		if strings.Count(string(header), string(separator)) > strings.Count(string(header), string(best)) {
			best = separator
		}
	}
	return best
}

// readHeader returns the names of the columns as [Columns] spells them.
func readHeader(line []byte, separator rune) ([]string, error) {
	if problem := unreadable(line); problem != "" {
		return nil, errors.New(problem)
	}
	columns, problem := parseRecord(line, separator)
	if problem != "" {
		return nil, errors.New(problem)
	}
	for i, name := range columns {
		columns[i] = strings.ToLower(strings.TrimSpace(name))
	}
	var missing []string
	for _, name := range Columns {
		first := slices.Index(columns, name)
		if first < 0 {
			missing = append(missing, name)
		} else if slices.Contains(columns[first+1:], name) {
			return nil, fmt.Errorf("there are two columns %s in the header.", name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the header names no column %s. A CSV file begins with a line that names all of %s, in any order.",
			strings.Join(missing, ", "), strings.Join(Columns, ", "))
	}
	return columns, nil
}

// readRecord reads the record that begins at pos, which takes several lines if a
// quoted value contains line breaks, and returns where it ends. If the lines
// make no record of so many values, the problem is that of the first line alone,
// and the caller goes on with the second: a stray quote costs one order.
func readRecord(data []byte, pos int, separator rune, columns int) (values []string, end int, problem string) {
	line, end := nextLine(data, pos)
	if problem := unreadable(line); problem != "" {
		return nil, 0, problem
	}
	lines, quotes := 1, bytes.Count(line, []byte(`"`))
	text := bytes.Clone(line)
	for quotes%2 != 0 {
		if lines == maxRecordLines || end == len(data) {
			return nil, 0, unclosed
		}
		line, end = nextLine(data, end)
		text = append(append(text, '\n'), line...)
		if unreadable(text) != "" {
			return nil, 0, unclosed
		}
		lines++
		quotes += bytes.Count(line, []byte(`"`))
	}
	values, problem = parseRecord(text, separator)
	if problem == "" && len(values) != columns {
		problem = fmt.Sprintf("The line has %d values, and the header has %d.", len(values), columns)
	}
	if problem != "" && lines > 1 {
		problem = unclosed
	}
	return values, end, problem
}

const unclosed = "A quote is opened in this line and not closed."

// parseRecord splits one record into its values.
func parseRecord(text []byte, separator rune) (values []string, problem string) {
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma = separator
	values, err := r.Read()
	switch {
	case err == nil:
		return values, ""
	case errors.Is(err, csv.ErrBareQuote):
		return nil, "A quote stands inside a value that does not begin with one. Put the whole value into quotes and double those inside it."
	case errors.Is(err, csv.ErrQuote):
		return nil, "Text follows a quoted value. Double the quotes inside of a value."
	default:
		return nil, fmt.Sprintf("The line is not CSV: %v.", err)
	}
}
