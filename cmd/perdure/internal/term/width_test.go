package term

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// wide are texts with their width in columns. Terminals and fonts may still disagree about some
// sequences of emoji.
var wide = map[string]int{
	"order-17": 8, "größer": 6, "gro\u0308\u00dfer": 6, "注文-17": 7, "ｆｕｌｌ": 8, "ﾊﾝｶｸ": 4, "서울": 4, "مرحبا": 5, "ok✅": 4, "👩\u200d🔧": 2, "🇩🇪": 2, "👍🏽": 2, "❤\ufe0f": 2, "": 0, "a\u200bb": 2,
	"น้ำ": 2, "ทำงาน": 5, "ำ": 1, "ຄຳ": 2,
}

// TestF14_WideCharacters: a table of characters that are two columns wide, or none, is aligned,
// and fits where it must.
func TestF14_WideCharacters(t *testing.T) {
	for text, columns := range wide {
		if got := Width(text); got != columns {
			t.Errorf("%q has %d columns, want %d", text, got, columns)
		}
	}
	table := NewTable(Style{}, "ID", "\tN", "TEXT")
	table.Row("注文", "七", "x")
	table.Row("order", "12", "👍🏽 y")
	table.Row("cafe\u0301", "1", "z")
	for width, want := range map[int]string{
		0:  "ID      N  TEXT\n注文   七  x\norder  12  👍🏽 y\ncafe\u0301    1  z\n",
		14: "ID     N  TEXT\n注文  七  x\no…er  12  👍🏽 y\ncafe\u0301   1  z\n",
	} {
		var out bytes.Buffer
		table.Width = width
		if table.Write(&out); out.String() != want {
			t.Errorf("at %d columns:\n%s\nwant:\n%s", width, out.String(), want)
		}
	}
}

// TestF14_CutTextsFit: whatever is cut fits into its columns, and nothing is cut that fits.
func TestF14_CutTextsFit(t *testing.T) {
	pieces := []string{" ", "\u0301", "\u200d", "\ufe0f", "🏽"}
	for text := range wide {
		pieces = append(pieces, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.String()), 0, 12).Draw(t, "text"), "")
		columns := rapid.IntRange(1, 30).Draw(t, "columns")
		for name, got := range map[string]string{"Clip": Clip(s, columns), "ClipMiddle": ClipMiddle(s, columns)} {
			if Width(got) > columns || !utf8.ValidString(got) || (Width(s) <= columns) != (got == s) {
				t.Fatalf("%s of %q (%d) to %d is %q (%d)", name, s, Width(s), columns, got, Width(got))
			}
		}
		if head, rest := Cut(s, columns); head+rest != s || Width(head) > columns || rest != "" && Width(s) <= columns {
			t.Fatalf("%q is cut at %d into %q and %q", s, columns, head, rest)
		}
	})
}

func TestTheMiddleIsCut(t *testing.T) {
	for limit, want := range map[int]string{0: "import/checkout/6-9a16", 22: "import/checkout/6-9a16", 14: "impo…ut/6-9a16", 2: "i…", 1: "…"} {
		if got := ClipMiddle("import/checkout/6-9a16", limit); got != want {
			t.Errorf("%d: %q, want %q", limit, got, want)
		}
	}
}
