package shop

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Fault is one order that was left out because it is malformed.
type Fault struct {
	Line   int    `json:"line"`         // where it begins in the file, from 1
	ID     string `json:"id,omitempty"` // of the order, if it could be read
	Reason string `json:"reason"`       // one or more full sentences
}

// String is the fault as it is shown to a person.
func (f Fault) String() string {
	if f.ID == "" {
		return fmt.Sprintf("line %d: %s", f.Line, f.Reason)
	}
	return fmt.Sprintf("line %d, order %s: %s", f.Line, quoted(f.ID), f.Reason)
}

const (
	maxInput  = 64 << 20 // bytes of a file
	maxLine   = 64 << 10 // bytes of one order
	maxFaults = 1000     // then it is no order file
)

// ReadOrders reads orders from CSV (with a header that names the columns) or
// JSON (an array, or one object a line); it tells them apart by their content,
// not by the name, which is used in errors only. Columns and members that are
// not in [Columns] are ignored.
//
// A malformed order becomes a fault, and the others go on; faults are in the
// order of their lines. An error means that nothing can be read from this file:
// it is empty, too large, not text, or its header is unusable. An order whose ID
// was there before is a fault; the first one stands. After 1,000 faults the rest
// of the file is not read, and the last fault says so.
func ReadOrders(r io.Reader, name string) (orders []Order, faults []Fault, err error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err != nil {
		return nil, nil, fmt.Errorf("The order file %s could not be read: %w", name, err)
	}
	if len(data) > maxInput {
		return nil, nil, fmt.Errorf("The order file %s is larger than %d MiB. Split it into several files.", name, maxInput>>20)
	}
	if bytes.HasPrefix(data, []byte{0xFF, 0xFE}) || bytes.HasPrefix(data, []byte{0xFE, 0xFF}) {
		return nil, nil, fmt.Errorf("The order file %s is in UTF-16. Save it as UTF-8.", name)
	}
	data = bytes.TrimPrefix(data, []byte{0xEF, 0xBB, 0xBF}) // the mark that some editors put before UTF-8
	content := bytes.TrimLeft(data, " \t\r\n")
	if len(content) == 0 {
		return nil, nil, fmt.Errorf("The order file %s is empty.", name)
	}

	c := &collector{seen: map[string]int{}}
	switch content[0] {
	case '[':
		readJSONArray(data, c)
	case '{':
		readJSONLines(data, c)
	default:
		if err := readCSV(data, c); err != nil {
			return nil, nil, fmt.Errorf("The order file %s cannot be used: %w", name, err)
		}
	}
	return c.orders, c.faults, nil
}

// collector gathers what a reader finds.
type collector struct {
	orders []Order
	faults []Fault
	seen   map[string]int // the line of each ID
}

func (c *collector) fault(line int, id string, reasons ...string) {
	if len(c.faults) == maxFaults-1 {
		reasons = append(reasons, fmt.Sprintf("With it %d orders are malformed, and the rest of the file was not read.", maxFaults))
	}
	c.faults = append(c.faults, Fault{Line: line, ID: id, Reason: strings.Join(reasons, " ")})
}

// full reports that there were so many faults that reading on makes no sense.
func (c *collector) full() bool { return len(c.faults) >= maxFaults }

// add takes an order built from the fields of one line, or reports why not.
// Fields is nil for a field that is missing.
func (c *collector) add(line int, fields map[string]*field) {
	b := builder{fields: fields}
	o := Order{
		ID:          b.text("id"),
		Customer:    b.text("customer"),
		Item:        b.text("item"),
		Quantity:    int(b.whole("quantity", strconv.IntSize)),
		AmountCents: b.whole("amount_cents", 64),
		Currency:    b.text("currency"),
		Card:        b.text("card"),
		Address:     b.text("address"),
		Country:     b.text("country"),
	}
	reasons := b.reasons
	if len(reasons) == 0 { // else zero values would be called faults, too
		reasons = o.Faults()
	}
	id := o.ID
	if !utf8.ValidString(id) || len(id) > maxID {
		id = ""
	}
	if len(reasons) > 0 {
		c.fault(line, id, reasons...)
		return
	}
	if first, twice := c.seen[o.ID]; twice {
		c.fault(line, id, fmt.Sprintf("An order with this ID is already in line %d.", first))
		return
	}
	c.seen[o.ID] = line
	c.orders = append(c.orders, o)
}

// field is one value of a file, with the kind that the file gave it.
type field struct {
	text string
	kind string // "text" in CSV, where all is; else the JSON type
}

// builder turns the fields of an order into Go values and notes what is wrong.
type builder struct {
	fields  map[string]*field
	reasons []string
}

func (b *builder) fault(format string, args ...any) {
	b.reasons = append(b.reasons, fmt.Sprintf(format, args...))
}

func (b *builder) text(column string) string {
	f := b.fields[column]
	switch {
	case f == nil:
		b.fault("The %s is missing.", column)
	case f.kind != "text" && f.kind != "string":
		b.fault("The %s must be a string, and is %s.", column, article(f.kind))
	default:
		return strings.TrimSpace(f.text)
	}
	return ""
}

func (b *builder) whole(column string, bits int) int64 {
	f := b.fields[column]
	if f == nil {
		b.fault("The %s is missing.", column)
		return 0
	}
	if f.kind != "text" && f.kind != "number" {
		b.fault("The %s must be a number, and is %s.", column, article(f.kind))
		return 0
	}
	text := strings.TrimSpace(f.text)
	if text == "" {
		b.fault("The %s is empty.", column)
		return 0
	}
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil {
		b.fault("The %s %s is not a whole number, or far too large.", column, quoted(text))
	}
	return n
}

// article puts "a" or "an" before the name of a JSON type.
func article(kind string) string {
	switch kind {
	case "null":
		return kind
	case "array", "object":
		return "an " + kind
	}
	return "a " + kind
}

// nextLine returns the line that begins at pos, without its end, and where the
// next one begins.
func nextLine(data []byte, pos int) (line []byte, next int) {
	line, next = data[pos:], len(data)
	if end := bytes.IndexByte(line, '\n'); end >= 0 {
		line, next = line[:end], pos+end+1
	}
	return bytes.TrimSuffix(line, []byte("\r")), next
}

// unreadable says why a line cannot hold an order whatever its format, or "".
func unreadable(line []byte) string {
	if len(line) > maxLine {
		return fmt.Sprintf("The order takes more than %d bytes.", maxLine)
	}
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRune(line[i:])
		if r == utf8.RuneError && size == 1 {
			return fmt.Sprintf("The text is not valid UTF-8: there is the byte 0x%02X at position %d.", line[i], i+1)
		}
		i += size
	}
	return ""
}
