package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

const header = "id,customer,item,quantity,amount_cents,currency,card,address,country\n"

// row is a good line with the given ID.
func row(id string) string {
	return id + `,Anna Becker,moka pot,2,6580,EUR,4242424242424242,"Am Markt 3, 28195 Bremen",DE` + "\n"
}

// object is a good JSON order with the given ID.
func object(id string) string {
	text, err := json.Marshal(goodOrder(id))
	if err != nil {
		panic(err)
	}
	return string(text)
}

func goodOrder(id string) Order {
	return Order{ID: id, Customer: "Anna Becker", Item: "moka pot", Quantity: 2, AmountCents: 6580,
		Currency: "EUR", Card: "4242424242424242", Address: "Am Markt 3, 28195 Bremen", Country: "DE"}
}

func TestSampleOrdersAreAllGood(t *testing.T) {
	orders, faults, err := ReadOrders(strings.NewReader(SampleOrders), "orders.csv")
	if err != nil || len(faults) > 0 {
		t.Fatalf("error %v, faults %v", err, faults)
	}
	if len(orders) != 300 {
		t.Errorf("%d orders; want 300", len(orders))
	}
	declined, large := 0, 0
	for _, o := range orders {
		if _, never := declineReason(o.Card); never {
			declined++
		}
		if o.Quantity >= 48 {
			large++
		}
	}
	if declined < 3 || declined > 15 || large < 3 {
		t.Errorf("%d declined cards and %d large orders; want a handful of each", declined, large)
	}
}

func TestFormatsAgree(t *testing.T) {
	want := []Order{goodOrder("A-1"), goodOrder("A-2")}
	semicolons := strings.NewReplacer(`"Am Markt 3, 28195 Bremen"`, "\x00", ",", ";").Replace(header + row("A-1") + row("A-2"))
	semicolons = strings.ReplaceAll(semicolons, "\x00", "Am Markt 3, 28195 Bremen")
	inputs := map[string]string{
		"CSV":                header + row("A-1") + row("A-2"),
		"CSV, no last break": strings.TrimSuffix(header+row("A-1")+row("A-2"), "\n"),
		"CSV from Windows":   "\ufeff" + strings.ReplaceAll(header+row("A-1")+row("A-2"), "\n", "\r\n"),
		"CSV, blank lines":   "\n \n" + header + "\n" + row("A-1") + "\r\n" + row("A-2") + "\n\n",
		"CSV, semicolons":    semicolons,
		"CSV, more columns":  strings.Replace(strings.ToUpper(header), "\n", ",NOTES\n", 1) + strings.ReplaceAll(row("A-1")+row("A-2"), "DE\n", "DE,leave at door\n"),
		"JSON array":         "[" + object("A-1") + "," + object("A-2") + "]",
		"JSON array, lines":  "\ufeff \n[\n  " + object("A-1") + ",\n  " + object("A-2") + "\n]\n",
		"JSON lines":         object("A-1") + "\n\n" + object("A-2") + "\n",
		"JSON lines, CRLF":   object("A-1") + "\r\n" + object("A-2"),
		"JSON, more members": `[` + strings.Replace(object("A-1"), "{", `{"notes":{"id":7},`, 1) + "," + object("A-2") + "]",
	}
	for name, input := range inputs {
		orders, faults, err := ReadOrders(strings.NewReader(input), name)
		if err != nil || len(faults) > 0 {
			t.Errorf("%s: error %v, faults %v", name, err, faults)
		}
		if !reflect.DeepEqual(orders, want) {
			t.Errorf("%s: got %+v\nwant %+v", name, orders, want)
		}
	}
}

// TestMalformedLinesAreReportedAndTheOthersGoOn puts each malformed text between
// two good orders.
func TestMalformedLinesAreReportedAndTheOthersGoOn(t *testing.T) {
	with := func(column, value string) string { // a CSV line with one value replaced
		values := strings.Split(`B,Anna,moka pot,2,6580,EUR,4242,Bremen,DE`, ",")
		for i, c := range Columns {
			if c == column {
				values[i] = value
			}
		}
		return strings.Join(values, ",") + "\n"
	}
	tests := []struct {
		name, text, want string
		id               string
	}{
		{"empty id", with("id", " "), "The id is empty.", ""},
		{"long id", with("id", strings.Repeat("x", 201)), "The id has 201 bytes, and 200 is the most.", ""},
		{"NUL in the id", with("id", "B\x00"), `The id "B\x00" contains a control character.`, "B\x00"},
		{"duplicate id", with("id", "A-1"), "An order with this ID is already in line 2.", "A-1"},
		{"no customer", with("customer", ""), "The customer is empty.", "B"},
		{"negative quantity", with("quantity", "-3"), "The quantity -3 is negative.", "B"},
		{"no quantity", with("quantity", "0"), "The quantity is 0.", "B"},
		{"quantity is a word", with("quantity", "two"), `The quantity "two" is not a whole number, or far too large.`, "B"},
		{"quantity has decimals", with("quantity", "1.5"), `The quantity "1.5" is not a whole number, or far too large.`, "B"},
		{"quantity overflows", with("quantity", "99999999999999999999"), "or far too large.", "B"},
		{"quantity is large", with("quantity", "1000001"), "The quantity 1000001 is above 1000000", "B"},
		{"negative amount", with("amount_cents", "-1"), "The amount_cents -1 is negative.", "B"},
		{"no amount", with("amount_cents", ""), "The amount_cents is empty.", "B"},
		{"amount has decimals", with("amount_cents", "12.50"), "is not a whole number", "B"},
		{"currency", with("currency", "euro"), `The currency "euro" is not a code of three capital letters.`, "B"},
		{"country", with("country", "Germany"), `The country "Germany" is not a code of two capital letters.`, "B"},
		{"too few values", "B,Anna\n", "The line has 2 values, and the header has 9.", ""},
		{"too many values", strings.TrimSpace(with("id", "B")) + ",x\n", "The line has 10 values, and the header has 9.", ""},
		{"quote in a value", with("item", `12" pan`), "A quote is opened in this line and not closed.", ""},
		{"quotes in a value", with("item", `12" "deep" pan`), "A quote is opened", ""},
		{"two quotes in a value", with("item", `a "deep" pan`), "A quote stands inside a value that does not begin with one.", ""},
		{"unclosed quote", with("item", `"pan`), "A quote is opened in this line and not closed.", ""},
		{"text after a quote", with("item", `"pan" deep`), "Text follows a quoted value.", ""},
		{"huge line", with("address", strings.Repeat("x", maxLine)), "The order takes more than 65536 bytes.", ""},
		{"Latin-1", with("customer", "Andr\xe9"), "The text is not valid UTF-8: there is the byte 0xE9 at position 7.", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, eol := range []string{"\n", "\r\n"} {
				input := strings.ReplaceAll(header+row("A-1")+test.text+row("A-2")+row("A-3"), "\n", eol)
				orders, faults, err := ReadOrders(strings.NewReader(input), "x.csv")
				if err != nil {
					t.Fatal(err)
				}
				checkFault(t, faults, 3, test.id, test.want)
				if want := []Order{goodOrder("A-1"), goodOrder("A-2"), goodOrder("A-3")}; !reflect.DeepEqual(orders, want) {
					t.Errorf("got %+v", orders)
				}
			}
		})
	}
}

func checkFault(t *testing.T, faults []Fault, line int, id, reason string) {
	t.Helper()
	if len(faults) != 1 || faults[0].Line != line || faults[0].ID != id || !strings.Contains(faults[0].Reason, reason) {
		t.Errorf("got faults %+v\nwant one in line %d with ID %q: %s", faults, line, id, reason)
	}
}

func TestQuotedLineBreaksKeepTheLineNumbers(t *testing.T) {
	input := header +
		"A-1,\"Anna \"\"Nan\"\" Becker\",moka pot,2,6580,EUR,4242,\"Am Markt 3\n28195 Bremen\n\nGermany\",DE\n" + // lines 2 to 5
		row("A-2") + // 6
		"A-3,x\n" + // 7
		row("A-4")
	orders, faults, err := ReadOrders(strings.NewReader(input), "x.csv")
	if err != nil {
		t.Fatal(err)
	}
	checkFault(t, faults, 7, "", "2 values")
	if len(orders) != 3 || orders[0].Address != "Am Markt 3\n28195 Bremen\n\nGermany" || orders[0].Customer != `Anna "Nan" Becker` {
		t.Errorf("got %+v", orders)
	}
}

func TestMalformedJSONIsReportedAndTheOthersGoOn(t *testing.T) {
	with := func(member, value string) string {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(object("B")), &members); err != nil {
			t.Fatal(err)
		}
		if value == "" {
			delete(members, member)
		} else {
			members[member] = json.RawMessage(value)
		}
		text, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	tests := []struct{ name, text, want, id string }{
		{"missing member", with("card", ""), "The card is missing.", "B"},
		{"two faults", strings.Replace(with("card", ""), `"quantity":2`, `"quantity":"2"`, 1), "The quantity must be a number, and is a string. The card is missing.", "B"},
		{"id is a number", with("id", "17"), "The id must be a string, and is a number.", ""},
		{"id is null", with("id", "null"), "The id must be a string, and is null.", ""},
		{"quantity is a fraction", with("quantity", "1.5"), `The quantity "1.5" is not a whole number`, "B"},
		{"quantity is huge", with("quantity", "1e99"), `The quantity "1e99" is not a whole number`, "B"},
		{"quantity is an object", with("quantity", "{}"), "The quantity must be a number, and is an object.", "B"},
		{"negative amount", with("amount_cents", "-5"), "The amount_cents -5 is negative.", "B"},
		{"duplicate id", object("A-1"), "An order with this ID is already in line 2.", "A-1"},
		{"duplicate member", strings.Replace(object("B"), "{", `{"id":"C",`, 1), "The order has two members id.", ""},
		{"not an object", `"B"`, "An order must be a JSON object, and this is a string.", ""},
		{"an array", `[]`, "An order must be a JSON object, and this is an array.", ""},
		{"single quotes", `{'id': 'B'}`, "not", ""},
		{"unclosed string", `{"id": "B`, "not", ""},
		{"Latin-1", with("customer", `"Andr`+"\xe9"+`"`), "The text is not valid UTF-8", ""},
		{"huge", `{"id":"` + strings.Repeat("x", maxLine) + `"}`, "The order takes more than 65536 bytes", ""},
	}
	want := []Order{goodOrder("A-1"), goodOrder("A-2"), goodOrder("A-3")}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inputs := map[string]string{
				"array": "[\n" + object("A-1") + ",\n " + test.text + ",\n" + object("A-2") + ",\n" + object("A-3") + "]\n",
				"lines": "\n" + object("A-1") + "\n" + test.text + "\n" + object("A-2") + "\n" + object("A-3") + "\n",
			}
			for format, input := range inputs {
				orders, faults, err := ReadOrders(strings.NewReader(firstBrace(format, input)), "x.json")
				if err != nil {
					t.Fatal(err)
				}
				checkFault(t, faults, 3, test.id, test.want)
				if !reflect.DeepEqual(orders, want) {
					t.Errorf("%s: got %+v", format, orders)
				}
			}
		})
	}
}

// firstBrace keeps the inputs of both formats on the same lines.
func firstBrace(format, input string) string {
	if format == "lines" && !strings.HasPrefix(strings.TrimSpace(input), "{") {
		return "{}" + input
	}
	return input
}

func TestBrokenArrays(t *testing.T) {
	a, b, c := object("A"), object("B"), object("C")
	tests := []struct {
		name, input string
		orders      int
		line        int
		want        string
	}{
		{"not closed", "[\n" + a + ",\n" + b + "\n", 2, 4, "The array is not closed."},
		{"cut off", "[\n" + a + ",\n" + b[:20], 1, 3, "The order is not closed."},
		{"text behind", "[" + a + "]\n" + b, 1, 2, "more text after the end"},
		{"missing comma", "[\n" + a + "\n" + b + ",\n" + c + "]", 2, 3, "A comma is missing before this order."},
		{"missing brace", "[\n" + a + ",\n" + strings.TrimSuffix(b, "}") + ",\n" + c + "]", 2, 3, "The order is not valid JSON"},
		{"all in one line", "[" + a + ",{bad}," + b + "]", 1, 1, "What follows it could not be read, either."},
		{"comma at the end", "[" + a + ",\n]", 1, 2, "not valid JSON"},
		{"only a comma", "[,]", 0, 1, "not valid JSON"},
	}
	for _, test := range tests {
		orders, faults, err := ReadOrders(strings.NewReader(test.input), "x.json")
		if err != nil {
			t.Fatal(err)
		}
		if len(orders) != test.orders {
			t.Errorf("%s: %d orders; want %d", test.name, len(orders), test.orders)
		}
		t.Run(test.name, func(t *testing.T) { checkFault(t, faults, test.line, "", test.want) })
	}
	if orders, faults, err := ReadOrders(strings.NewReader("[]"), "x.json"); err != nil || len(orders)+len(faults) > 0 {
		t.Errorf("an empty array gives %v, %v, %v", orders, faults, err)
	}
}

func TestUnusableFilesAreErrors(t *testing.T) {
	tests := map[string]struct{ input, want string }{
		"empty":            {"", "The order file x is empty."},
		"only blanks":      {"\ufeff \r\n\n", "The order file x is empty."},
		"UTF-16":           {"\xff\xfei\x00d\x00", "UTF-16"},
		"no header":        {row("A-1"), "the header names no column id"},
		"missing column":   {strings.Replace(header, ",card", "", 1), "the header names no column card."},
		"column twice":     {strings.Replace(header, "item", "card", 1), "two columns card"},
		"same column":      {strings.Replace(header, "item", "item,item", 1), "two columns item"},
		"quote in header":  {strings.Replace(header, "item", `it"em`, 1), "quote"},
		"binary":           {"\x89PNG\r\n\x1a\n", "not valid UTF-8"},
		"huge header":      {strings.Repeat("x", maxLine+1), "65536"},
		"larger than huge": {strings.Repeat("\n", maxInput+1), "larger than 64 MiB"},
	}
	for name, test := range tests {
		_, _, err := ReadOrders(strings.NewReader(test.input), "x")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v\nwant an error with %q", name, err, test.want)
		}
	}
	if _, _, err := ReadOrders(iotest.ErrReader(io.ErrClosedPipe), "x"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a failing reader gives %v; want its error", err)
	}
}

func TestTooManyFaultsEndTheReading(t *testing.T) {
	for name, input := range map[string]string{
		"csv":   header + strings.Repeat("x\n", maxFaults+5) + row("A-1"),
		"lines": "{}\n" + strings.Repeat("x\n", maxFaults+5) + object("A-1"),
		"array": "[\n" + strings.Repeat("{x},\n", maxFaults+5) + object("A-1") + "]",
	} {
		orders, faults, err := ReadOrders(strings.NewReader(input), name)
		if err != nil || len(orders) > 0 || len(faults) != maxFaults {
			t.Fatalf("%s: %d orders, %d faults, %v; want %d faults only", name, len(orders), len(faults), err, maxFaults)
		}
		if last := faults[maxFaults-1].Reason; !strings.Contains(last, "the rest of the file was not read") {
			t.Errorf("%s: the last fault is %q", name, last)
		}
	}
}

func FuzzReadOrders(f *testing.F) {
	f.Add(header + row("A-1"))
	f.Add(header + row("A-1") + "A-1,\"x\n" + row("A-2"))
	f.Add("[" + object("A-1") + ",\n" + object("A-2") + "]")
	f.Add(object("A-1") + "\n" + object("A-2"))
	f.Add("[{\"id\":\n{\"id\":\n")
	f.Fuzz(func(t *testing.T, input string) {
		orders, faults, err := ReadOrders(strings.NewReader(input), "fuzz")
		if err != nil && len(orders)+len(faults) > 0 {
			t.Fatalf("an error comes with orders: %v", err)
		}
		seen := map[string]bool{}
		for _, o := range orders {
			if reasons := o.Faults(); len(reasons) > 0 {
				t.Fatalf("a faulty order was taken: %+v: %v", o, reasons)
			}
			if seen[o.ID] {
				t.Fatalf("order %q was taken twice", o.ID)
			}
			seen[o.ID] = true
		}
		last := 0
		for _, fault := range faults {
			if fault.Line < max(last, 1) || fault.Line > strings.Count(input, "\n")+1 {
				t.Fatalf("fault in line %d after one in line %d of %d", fault.Line, last, strings.Count(input, "\n")+1)
			}
			if fault.Reason == "" {
				t.Fatal("a fault without a reason")
			}
			last = fault.Line
			_ = fmt.Sprint(fault)
		}
		// What was taken reads the same when it is written as JSON.
		text, err := json.Marshal(orders)
		if err != nil {
			t.Fatal(err)
		}
		if again, faults, err := ReadOrders(strings.NewReader(string(text)), "again"); len(orders) > 0 && (err != nil || len(faults) > 0 || !reflect.DeepEqual(again, orders)) {
			t.Fatalf("read again: %v, %v\n%+v\n%+v", err, faults, orders, again)
		}
	})
}
