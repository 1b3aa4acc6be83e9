package human

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
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
		if !utf8.ValidString(out) || strings.ContainsFunc(out, Obeyed) {
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

func TestClipMarksTheCut(t *testing.T) {
	if got := Clip("größer", 4); got != "grö…" {
		t.Error(got)
	}
	if got := Clip("abc", 3) + Clip("abc", 0); got != "abcabc" {
		t.Error(got)
	}
}

func TestWhatIsComparedIsExact(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1500 * time.Microsecond: "2ms", 15 * time.Microsecond: "15µs", time.Minute: "1m", 90 * time.Second: "1m30s", 2 * time.Hour: "2h",
		time.Hour + time.Second: "1h0m1s", 10*time.Minute + 400*time.Microsecond: "10m",
	} {
		if got := Exact(d); got != want {
			t.Errorf("Exact(%d ns) is %q; want %q", d, got, want)
		}
	}
}

func TestErrorsAreSentences(t *testing.T) {
	for text, want := range map[string]string{
		"": "Unknown error.", "perdure: there is no run": "There is no run.", "perdure.Open: no such file": "No such file.",
		"a.db: busy": "a.db: busy.", "Done.": "Done.", "größer": "größer.",
		"see which there are: perdure nodes": "See which there are: perdure nodes", "see: perdure nodes, or ask": "see: perdure nodes, or ask.",
	} {
		if got := Sentence(text); got != want {
			t.Errorf("Sentence(%q) is %q; want %q", text, got, want)
		}
	}
}
