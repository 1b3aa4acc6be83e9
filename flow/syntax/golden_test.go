package syntax

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestW10_Grammar holds every production to testdata/grammar.txt: a text behind a
// line "=== name", and below it, behind lines "--- tree", "--- text" and
// "--- faults", what it is read as, how it is printed, and what is wrong with it.
func TestW10_Grammar(t *testing.T) {
	const path = "testdata/grammar.txt"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	cases := strings.Split(string(data), "=== ")
	got.WriteString(cases[0])
	for _, c := range cases[1:] {
		name, rest, _ := strings.Cut(c, "\n")
		in, _, _ := strings.Cut(rest, "--- ")
		in = strings.ReplaceAll(strings.TrimSuffix(in, "\n"), "\\t", "\t") // an empty line ends it
		fmt.Fprintf(&got, "=== %s\n%s\n", name, strings.ReplaceAll(in, "\t", "\\t"))
		f, err := Parse("", in)
		if err != nil {
			fmt.Fprintf(&got, "--- faults\n%v\n\n", err)
			continue
		}
		printed := Format(f)
		fmt.Fprintf(&got, "--- tree\n%s--- text\n%s\n", dump(f), printed)
		roundTrip(t, name, in)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got.String() != string(data) {
		w, g := strings.Split(string(data), "\n"), strings.Split(got.String(), "\n")
		for i := range min(len(w), len(g)) {
			if w[i] != g[i] {
				t.Fatalf("line %d is\n%s\nand should be\n%s\nRun with -update, and read the difference.", i+1, w[i], g[i])
			}
		}
		t.Fatal("the file has another length; run with -update, and read the difference")
	}
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
