package term

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestTableIsAligned(t *testing.T) {
	table := NewTable(Style{}, "NAME", "\tN", "LA\x1bST")
	table.Row("größer", "7", "x")
	table.Row("b\n", "1234", "")
	table.Row("c", Painted{"12", Bad}, "yy")
	var out bytes.Buffer
	table.Write(&out)
	want := "" +
		"NAME       N  LA\\u001bST\n" +
		"größer     7  x\n" +
		"b\\n     1234\n" +
		"c         12  yy\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// TestF14_NarrowTables: what has a short form is shown in it, spare columns are left out by name,
// and the first column keeps its texts.
func TestF14_NarrowTables(t *testing.T) {
	for width, want := range map[int]string{
		0: "" +
			"ID                    CALLS  WHEN                      TEXT            NOTE\n" +
			"order-2026-11-24T03Z      7  2026-11-24 03:12:04.905Z  a text of that  unchanged\n",
		62: "" +
			"ID                    CALLS  WHEN    TEXT            NOTE\n" +
			"order-2026-11-24T03Z      7  2m ago  a text of that  unchanged\n",
		59: "" +
			"ID                    WHEN    TEXT            NOTE\n" +
			"order-2026-11-24T03Z  2m ago  a text of that  unchanged\n" +
			"(no room for CALLS: see -o json)\n",
		40: "" +
			"ID                    WHEN    TEXT\n" +
			"order-2026-11-24T03Z  2m ago  a text of…\n" +
			"(no room for CALLS, NOTE: see -o json)\n",
		30: "" +
			"ID          WHEN    TEXT\n" +
			"ord…24T03Z  2m ago  a text of…\n" +
			"(no room for CALLS, NOTE: see…\n",
	} {
		table := NewTable(Style{}, "ID", "\tCALLS", "WHEN", "TEXT", "NOTE", "EMPTY")
		table.Spare("EMPTY", "CALLS", "NOTE")
		table.Width = width
		table.Row("order-2026-11-24T03Z", "7", Either{"2026-11-24 03:12:04.905Z", "2m ago"}, "a text of that", "unchanged")
		var out bytes.Buffer
		table.Write(&out)
		if out.String() != want {
			t.Errorf("at %d columns\n%s\nwant\n%s", width, out.String(), want)
		}
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
