package syntax

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/goldenfile"
)

// TestW10_Grammar holds every production to testdata/grammar.txt: a text behind a
// line "=== name", and below it, behind lines "--- tree", "--- text" and
// "--- faults", what it is read as, how it is printed, and what is wrong with it.
// "\t" stands for a tab.
func TestW10_Grammar(t *testing.T) {
	goldenfile.Cases(t, "testdata/grammar.txt", func(in string) string {
		in = strings.ReplaceAll(strings.TrimSuffix(in, "\n"), "\\t", "\t") // an empty line ends it
		f, err := Parse("", in)
		if err != nil {
			return fmt.Sprintf("--- faults\n%v\n\n", err)
		}
		roundTrip(t, in, in)
		return fmt.Sprintf("--- tree\n%s--- text\n%s\n", dump(f), Format(f))
	})
}

// roundTrip checks that a text without faults is the same tree when it is printed
// and read again, and that printing again changes nothing.
func roundTrip(t testing.TB, name, text string) {
	t.Helper()
	f, err := Parse("", text)
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	printed := Format(f)
	again, err := Parse("", printed)
	if err != nil {
		t.Fatalf("%s: what was printed cannot be read: %.2000v\n%.2000s", name, err, printed)
	}
	if is, want := dump(again), dump(f); is != want {
		t.Fatalf("%s: what was printed is another tree\n%.2000s\nwant\n%.2000s\nprinted\n%.2000s", name, is, want, printed)
	}
	if twice := Format(again); twice != printed {
		t.Fatalf("%s: printed again it is\n%s\nand was\n%s", name, twice, printed)
	}
}
