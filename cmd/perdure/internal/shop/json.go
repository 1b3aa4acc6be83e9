package shop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// readJSONLines reads one object a line.
func readJSONLines(data []byte, c *collector) {
	number := 0
	for pos := 0; pos < len(data) && !c.full(); {
		line, next := nextLine(data, pos)
		pos = next
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if problem := unreadable(line); problem != "" {
			c.fault(number, "", problem)
			continue
		}
		var value json.RawMessage
		if err := json.Unmarshal(line, &value); err != nil {
			c.fault(number, "", fmt.Sprintf("The line is not one whole JSON object: %v.", err))
			continue
		}
		addJSON(c, number, value)
	}
}

// readJSONArray reads an array of objects. After a malformed element it goes on
// with the next line that begins an object.
func readJSONArray(data []byte, c *collector) {
	a := arrayReader{data: data, line: 1}
	a.skipSpace()
	a.pos++ // the bracket, by which the caller knew the array
	first := true
	for !c.full() {
		a.skipSpace()
		if a.atEnd() {
			c.fault(a.line, "", "The array is not closed. The file may have been cut off.")
			return
		}
		if data[a.pos] == ']' {
			a.pos++
			if a.skipSpace(); !a.atEnd() {
				c.fault(a.line, "", "There is more text after the end of the array. It was not read.")
			}
			return
		}
		problem := ""
		if !first {
			if data[a.pos] == ',' {
				a.pos++
				a.skipSpace()
			} else {
				problem = "A comma is missing before this order."
			}
		}
		first = false
		begin := a.line
		var value json.RawMessage
		if problem == "" {
			value, problem = a.value()
		}
		if problem == "" {
			addJSON(c, begin, value)
			continue
		}
		found := a.skipToObject()
		if !found && bytes.IndexByte(data[min(a.pos+1, len(data)):], '{') >= 0 {
			problem += " What follows it could not be read, either."
		}
		c.fault(begin, "", problem)
		if !found {
			return
		}
		first = true // at an object, with no comma to expect
	}
}

// arrayReader is a place in a JSON text.
type arrayReader struct {
	data []byte
	pos  int
	line int
}

func (a *arrayReader) atEnd() bool { return a.pos >= len(a.data) }

func (a *arrayReader) advance(to int) {
	a.line += bytes.Count(a.data[a.pos:to], []byte("\n"))
	a.pos = to
}

func (a *arrayReader) skipSpace() {
	to := a.pos
	for to < len(a.data) && strings.IndexByte(" \t\r\n", a.data[to]) >= 0 {
		to++
	}
	a.advance(to)
}

// value reads the JSON value at this place and moves behind it, or stays and
// says what is wrong with it.
func (a *arrayReader) value() (json.RawMessage, string) {
	window := a.data[a.pos:]
	cut := len(window) > maxLine
	if cut {
		window = window[:maxLine]
	}
	decoder := json.NewDecoder(bytes.NewReader(window))
	var value json.RawMessage
	err := decoder.Decode(&value)
	if err != nil {
		unfinished := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
		switch {
		case unfinished && cut:
			return nil, fmt.Sprintf("The order takes more than %d bytes, or is not closed.", maxLine)
		case unfinished:
			return nil, "The order is not closed. The file may have been cut off."
		}
		return nil, fmt.Sprintf("The order is not valid JSON: %v.", err)
	}
	if problem := unreadable(value); problem != "" {
		return nil, problem
	}
	a.advance(a.pos + int(decoder.InputOffset()))
	return value, ""
}

// skipToObject moves to the next line that begins with an object, or stays and
// reports that there is none.
func (a *arrayReader) skipToObject() bool {
	for pos := a.pos; ; {
		_, next := nextLine(a.data, pos)
		if next >= len(a.data) {
			return false
		}
		line, _ := nextLine(a.data, next)
		if text := bytes.TrimLeft(line, " \t"); len(text) > 0 && text[0] == '{' {
			a.advance(next + len(line) - len(text))
			return true
		}
		pos = next
	}
}

// addJSON takes the order in a valid JSON value.
func addJSON(c *collector, line int, value json.RawMessage) {
	if kind := jsonKind(value); kind != "object" {
		c.fault(line, "", fmt.Sprintf("An order must be a JSON object, and this is %s.", article(kind)))
		return
	}
	fields := map[string]*field{}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.Token() // the brace
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			c.fault(line, "", fmt.Sprintf("The order is not valid JSON: %v.", err))
			return
		}
		var member json.RawMessage
		if err := decoder.Decode(&member); err != nil {
			c.fault(line, "", fmt.Sprintf("The order is not valid JSON: %v.", err))
			return
		}
		column, _ := name.(string)
		if !slices.Contains(Columns, column) {
			continue
		}
		if fields[column] != nil {
			c.fault(line, "", fmt.Sprintf("The order has two members %s.", column))
			return
		}
		f := &field{kind: jsonKind(member), text: string(member)}
		if f.kind == "string" {
			if err := json.Unmarshal(member, &f.text); err != nil {
				c.fault(line, "", fmt.Sprintf("The %s is not a valid JSON string: %v.", column, err))
				return
			}
		}
		fields[column] = f
	}
	c.add(line, fields)
}

// jsonKind names the type of a valid JSON value.
func jsonKind(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
