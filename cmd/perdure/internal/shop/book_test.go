package shop

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// keep fills a book with one request of each sort.
func keep(t *testing.T, b *Book) {
	t.Helper()
	at := time.Unix(1_800_000_000, 0).UTC()
	work := func(kind Kind, key string, answer Answer, o Order) {
		t.Helper()
		n, _ := b.begin(at)
		if _, _, err := b.work(entry{Number: n, At: at, Kind: kind, Key: key, Order: o.ID, Answer: answer}, o, o.Card); err != nil {
			t.Fatal(err)
		}
	}
	declined := goodOrder("B")
	declined.Card = "4000000000000002"
	work(Reserve, "r-A", AnswerOK, goodOrder("A"))
	work(Charge, "c-A", AnswerReset, goodOrder("A"))
	work(Charge, "c-A", AnswerOK, goodOrder("A"))
	work(Ship, "s-A", AnswerHang, goodOrder("A"))
	work(Notify, "n-A", AnswerOK, goodOrder("A"))
	work(Charge, "c-B", AnswerOK, declined)
	n, _ := b.begin(at)
	if err := b.note(entry{Number: n, At: at, Kind: Ship, Key: "s-B", Order: "B", Answer: AnswerUnavailable, Outage: true}); err != nil {
		t.Fatal(err)
	}
}

var kept = Totals{
	Requests:    7,
	Answers:     map[Answer]int{AnswerOK: 3, AnswerReset: 1, AnswerHang: 1, AnswerDeclined: 1, AnswerUnavailable: 1},
	Effects:     map[Kind]int{Reserve: 1, Charge: 1, Ship: 1, Notify: 1},
	Duplicates:  1,
	LostAnswers: 2,
	InOutage:    1,
	Orders: map[string]Tally{
		"A": {Reserved: 1, Charged: 1, Shipped: 1, Notified: 1, ChargedCents: 6580},
		"B": {Declined: "The bank declined the card."},
	},
}

func openBook(t *testing.T, path string) *Book {
	t.Helper()
	b, err := OpenBook(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() }) // most tests have closed it
	return b
}

func TestBookSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book")
	b := openBook(t, path)
	keep(t, b)
	if got := b.Totals(); !reflect.DeepEqual(got, kept) {
		t.Errorf("got  %+v\nwant %+v", got, kept)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}

	b = openBook(t, path)
	if got := b.Totals(); !reflect.DeepEqual(got, kept) {
		t.Errorf("after a restart\ngot  %+v\nwant %+v", got, kept)
	}
	if n, first := b.begin(time.Now()); n != 8 || first.Unix() != 1_800_000_000 {
		t.Errorf("the next request is number %d after one at %s; want 8", n, first)
	}
	out, again, err := b.work(entry{Number: 8, Kind: Charge, Key: "c-A", Order: "A", Answer: AnswerOK}, goodOrder("A"), goodOrder("A").Card)
	if err != nil || !again || out.result.ID != "charge-000002" {
		t.Errorf("the known key gives %+v, again %v, %v; want the first result", out, again, err)
	}
}

func TestUnfinishedLastLineIsDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "book")
	b := openBook(t, path)
	keep(t, b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	last := lines[len(lines)-2]
	for cut := 1; cut <= len(last); cut++ {
		torn := whole[:len(whole)-cut]
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := OpenBook(path)
		if err != nil {
			t.Fatalf("%d bytes cut off: %v", cut, err)
		}
		if got := b.Totals().Requests; got != 6 {
			t.Fatalf("%d bytes cut off: %d requests; want 6", cut, got)
		}
		// What is written next stands on a line of its own.
		if err := b.note(entry{Number: 9, Answer: AnswerReset}); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if b = openBook(t, path); b.Totals().Requests != 7 {
			t.Fatalf("%d bytes cut off: the book cannot be continued", cut)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatIsNoBookIsRefusedAndLeftAlone(t *testing.T) {
	good := `{"n":1,"at":"2026-11-21T00:00:00Z","answer":"ok"}` + "\n"
	for name, text := range map[string]string{
		"other text":     "my novel\n",
		"one line":       "my novel",
		"other JSON":     "{}\n",
		"damaged inside": good + "{\"n\":2,\"at\n" + good,
		"two writers":    good + good,
	} {
		path := filepath.Join(t.TempDir(), "book")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := OpenBook(path); err == nil {
			_ = b.Close()
			t.Errorf("%s: it is taken for a book", name)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error does not name the file: %v", name, err)
		}
		if after, err := os.ReadFile(path); err != nil || string(after) != text {
			t.Errorf("%s: the file was changed to %q (%v)", name, after, err)
		}
	}
	if _, err := OpenBook(t.TempDir()); err == nil {
		t.Error("a directory is taken for a book")
	}
}

func TestBrokenFileEndsTheBook(t *testing.T) {
	b := openBook(t, filepath.Join(t.TempDir(), "book"))
	if err := b.journal.file.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, _, err := b.work(entry{Number: 1, Kind: Charge, Key: "k", Order: "A", Answer: AnswerOK}, goodOrder("A"), "")
		if err == nil || !strings.Contains(err.Error(), "could not be written") {
			t.Errorf("work on a broken book gives %v", err)
		}
	}
	if got := b.Totals(); got.Requests != 0 || got.Effects[Charge] != 0 {
		t.Errorf("what was not written counts: %+v", got)
	}
}

func TestRepeatedEffectsAreNamed(t *testing.T) {
	b := openBook(t, "")
	for n, key := range []string{"first", "second", "first"} {
		if _, _, err := b.work(entry{Number: int64(n + 1), Kind: Charge, Key: key, Order: "A", Answer: AnswerOK}, goodOrder("A"), "x"); err != nil {
			t.Fatal(err)
		}
	}
	got := b.Totals()
	if tally := got.Orders["A"]; tally.Charged != 2 || tally.ChargedCents != 2*6580 {
		t.Errorf("two keys charge %+v; want 2", tally)
	}
	if ids := got.Repeated(); !reflect.DeepEqual(ids, []string{"A"}) {
		t.Errorf("repeated: %v; want A", ids)
	}
	if ids := kept.Repeated(); len(ids) > 0 {
		t.Errorf("repeated: %v; want none", ids)
	}
}
