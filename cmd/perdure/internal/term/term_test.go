package term

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/internal/human"
)

func TestF2_ControlCharactersAreEscaped(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, Größe 5 µm": "plain text, Größe 5 µm",
		"\x1b[2Jgone":            `\u001b[2Jgone`,
		"two\nlines\r\n\tend":    `two\nlines\r\n\tend`,
		"bell\a and \x7f":        `bell\u0007 and \u007f`,
		"c1 \u009b2J":            `c1 \u009b2J`,
		"bidi \u202egnp.exe":     `bidi \u202egnp.exe`,
		"broken \xff\xfe bytes":  `broken \xff\xfe bytes`,
		"a true \ufffd":          "a true \ufffd",
		"":                       "",
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%q) is %q; want %q", in, got, want)
		}
	}
}

func FuzzEscapeLeavesNothingToObey(f *testing.F) {
	f.Add("\x1b]0;title\a")
	f.Add("\xf0\x28\x8c\xbc")
	f.Fuzz(func(t *testing.T, s string) {
		out := Escape(s)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, human.Obeyed) {
			t.Errorf("Escape(%q) is %q", s, out)
		}
	})
}

func TestDurationsAreReadable(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                  "0s",
		800 * time.Nanosecond:              "0s",
		15 * time.Microsecond:              "15µs",
		340 * time.Millisecond:             "340ms",
		time.Second:                        "1s",
		1250 * time.Millisecond:            "1.2s",
		9990 * time.Millisecond:            "9.9s",
		45 * time.Second:                   "45s",
		184 * time.Second:                  "3m04s",
		2*time.Hour + 5*time.Minute:        "2h05m",
		76 * time.Hour:                     "3d04h",
		-1500 * time.Millisecond:           "-1.5s",
		time.Duration(math.MinInt64):       "-106751d23h",
		time.Duration(math.MaxInt64):       "106751d23h",
		59*time.Second + 999999999:         "59s",
		time.Hour - time.Nanosecond:        "59m59s",
		time.Millisecond - time.Nanosecond: "999µs",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d ns) is %q; want %q", d, got, want)
		}
	}
}

func TestTimesAreSaidFromNow(t *testing.T) {
	now := time.Unix(1000, 0)
	for d, want := range map[time.Duration]string{
		time.Minute: "in 1m00s", -2 * time.Second: "2s ago", 0: "now", 500 * time.Microsecond: "now",
	} {
		if got := When(now.Add(d), now); got != want {
			t.Errorf("When(%s) is %q; want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{time.Minute: "in 1m00s", 0: "now", -4 * time.Second: "now", -time.Minute: "1m00s overdue"} {
		if got := Until(now.Add(d), now); got != want {
			t.Errorf("Until(%s) is %q; want %q", d, got, want)
		}
	}
}

func TestCountsHaveThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", 1005: "1,005"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) is %q; want %q", n, got, want)
		}
	}
	if got := Plural(1, "order", "orders") + ", " + Plural(2, "order", "orders"); got != "1 order, 2 orders" {
		t.Error(got)
	}
}

func TestTableIsAligned(t *testing.T) {
	table := NewTable(Style{}, "NAME", "N", "LAST")
	table.Right(1)
	table.Row("größer", "7", "x")
	table.Row("b\n", "1234", "")
	table.Row("c", Painted{"12", Bad}, "yy")
	var out bytes.Buffer
	if err := table.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"NAME       N  LAST\n" +
		"größer     7  x\n" +
		"b\\n     1234\n" +
		"c         12  yy\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestF2_ColoursOnlyWhereWanted(t *testing.T) {
	if got := (Style{}).Paint("x", Bad); got != "x" {
		t.Errorf("plain style paints %q", got)
	}
	if got := (Style{Colours: true}).Paint("x", Bad); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("coloured style paints %q", got)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	none := func(string) string { return "" }
	if d := Detect(file, none); d.Colours || d.Moves || d.Width() != 0 {
		t.Errorf("a file is taken for a terminal: %+v", d)
	}
	if d := Detect(&bytes.Buffer{}, none); d.Colours || d.Moves {
		t.Errorf("a buffer is taken for a terminal: %+v", d)
	}
}

func TestClipMarksTheCut(t *testing.T) {
	if got := Clip("größer", 4); got != "grö…" {
		t.Error(got)
	}
	if got := Clip("abc", 3) + Clip("abc", 0); got != "abcabc" {
		t.Error(got)
	}
}

func TestCommandsCanBePasted(t *testing.T) {
	for in, want := range map[string]string{
		"perdure-demo/demo.db": "perdure-demo/demo.db", "my demo": "'my demo'", "it's": `'it'\''s'`, "": "''", "$HOME": "'$HOME'",
		"postgres://shop@db/shop?schema=x": "'postgres://shop@db/shop?schema=x'",
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) is %s; want %s", in, got, want)
		}
	}
}
