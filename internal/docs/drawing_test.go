package docs

import (
	"fmt"
	"html"
	"strings"
	"testing"
)

// sheet has the colours of a drawing, on a light and on a dark page.
const sheet = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:var(--ink)}
.soft{fill:var(--soft)}.note{fill:var(--note)}.hurt{fill:var(--hurt)}.name{font-weight:600}
svg{--page:#fff;--ink:#1f2328;--soft:#59636e;--line:#8c959f;--fill:#f6f8fa;--done:#1a7f37;--hurt:#cf222e;--note:#0969da}
@media(prefers-color-scheme:dark){svg{--page:#0d1117;--ink:#e6edf3;--soft:#9aa4af;--line:#6e7681;--fill:#151b23;--done:#3fb950;--hurt:#f85149;--note:#4493f8}}
</style>
`

// TestDrawings holds the drawings of docs/pictures to the functions that draw them; with -update
// it writes them:
//
//	go test ./internal/docs -run Drawings -update
func TestDrawings(t *testing.T) {
	for name, draw := range map[string]func(*drawing){"turn": turn, "takeover": takeover, "house": house} {
		d := &drawing{}
		draw(d)
		Picture(t, *update, name+".svg", d.svg())
	}
}

// drawing is a picture of boxes, arrows and words.
type drawing struct {
	width, height int
	title         string
	body          strings.Builder
}

func (d *drawing) size(width, height int, title string) {
	d.width, d.height, d.title = width, height, title
}

func (d *drawing) svg() string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img">
<title>%[3]s</title>
`+sheet+`<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="var(--line)"/></marker></defs>
<rect width="%[1]d" height="%[2]d" fill="var(--page)"/>
%[4]s</svg>
`, d.width, d.height, html.EscapeString(d.title), d.body.String())
}

// box draws a box with lines of words in its middle, the first in bold.
func (d *drawing) box(x, y, w, h int, edge string, lines ...string) {
	fmt.Fprintf(&d.body, `<rect x="%d" y="%d" width="%d" height="%d" rx="6" fill="var(--fill)" stroke="var(--%s)"/>`+"\n", x, y, w, h, edge)
	for i, line := range lines {
		class := "soft"
		if i == 0 {
			class = "name"
		}
		fmt.Fprintf(&d.body, `<text x="%d" y="%d" text-anchor="middle" class="%s">%s</text>`+"\n", x+w/2, y+h/2+5-9*(len(lines)-1)+18*i, class, html.EscapeString(line))
	}
}

// say writes words that begin at a place.
func (d *drawing) say(x, y int, class, words string) {
	fmt.Fprintf(&d.body, `<text x="%d" y="%d" class="%s">%s</text>`+"\n", x, y, class, html.EscapeString(words))
}

// arrow draws an arrow, dashed if it stands for something that is read and not done.
func (d *drawing) arrow(x1, y1, x2, y2 int, dashed bool) {
	style := ""
	if dashed {
		style = ` stroke-dasharray="4 4"`
	}
	fmt.Fprintf(&d.body, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="var(--line)" stroke-width="1.5" marker-end="url(#tip)"%s/>`+"\n", x1, y1, x2, y2, style)
}

// bar draws a span of time.
func (d *drawing) bar(x, y, w int, colour, words string) {
	fmt.Fprintf(&d.body, `<rect x="%d" y="%d" width="%d" height="22" rx="4" fill="var(--%[4]s)" fill-opacity="0.25" stroke="var(--%[4]s)"/>`+"\n", x, y, w, colour)
	d.say(x+8, y+15, "ink", words)
}

// cross marks the death of a process.
func (d *drawing) cross(x, y int) {
	fmt.Fprintf(&d.body, `<path d="M%d %d l12 12 m0 -12 l-12 12" stroke="var(--hurt)" stroke-width="3"/>`+"\n", x-6, y-6)
}

// turn: a run of two calls, a crash, and the replay that continues it.
func turn(d *drawing) {
	d.size(860, 400, "A turn, a crash and a replay")
	d.say(20, 30, "ink", "Process 1")
	d.box(110, 12, 130, 50, "line", "code runs", "asks for reserve")
	d.box(290, 12, 130, 50, "done", "reserve", "attempt 1")
	d.box(470, 12, 130, 50, "line", "code continues", "asks for charge")
	d.box(650, 12, 130, 50, "hurt", "charge", "attempt 1")
	d.arrow(240, 37, 290, 37, false)
	d.arrow(420, 37, 470, 37, false)
	d.arrow(600, 37, 650, 37, false)
	d.cross(800, 37)
	d.say(790, 66, "hurt", "kill -9")

	d.say(20, 190, "ink", "Database")
	d.box(110, 150, 180, 68, "note", "turn 1", "the run started;", "reserve is asked for")
	d.box(410, 150, 180, 68, "note", "turn 2", "reserve has a result;", "charge is asked for")
	d.box(660, 150, 180, 68, "note", "turn 3", "charge has a result;", "the run is completed")
	d.arrow(175, 62, 175, 150, false)
	d.arrow(535, 62, 520, 150, false)
	d.say(182, 112, "soft", "one commit")
	d.say(535, 112, "soft", "one commit, result and next call together")

	d.say(20, 340, "ink", "Process 2")
	d.box(110, 308, 130, 50, "line", "code runs again", "from its beginning")
	d.box(290, 308, 130, 50, "line", "reserve", "from the record")
	d.box(470, 308, 130, 50, "done", "charge", "attempt 2")
	d.box(650, 308, 130, 50, "line", "code returns", "the result")
	d.arrow(240, 333, 290, 333, true)
	d.arrow(420, 333, 470, 333, true)
	d.arrow(600, 333, 650, 333, false)
	d.arrow(450, 218, 375, 308, true)
	d.arrow(725, 308, 735, 218, false)
	d.say(110, 268, "soft", "replay: nothing is done twice")
	d.say(742, 268, "soft", "one commit")
	d.say(110, 386, "soft", "Attempt 1 of charge is recorded as lost. The bank knows the key, so it charges once.")
}

// takeover: a node dies, and another continues its runs.
func takeover(d *drawing) {
	d.size(860, 330, "Takeover on two nodes")
	d.say(20, 40, "ink", "Node A")
	d.bar(100, 25, 270, "done", "owns partitions 0 to 127, epoch 7")
	d.cross(370, 36)
	d.say(382, 40, "hurt", "kill -9, or cut off")
	d.say(20, 135, "ink", "Database")
	d.bar(100, 120, 590, "note", "lease of A: renewed every 3.3 s, valid for 10 s")
	for _, x := range []int{140, 235, 330} {
		d.arrow(x, 47, x, 120, false)
	}
	d.say(145, 90, "soft", "renewals")
	d.say(20, 235, "ink", "Node B")
	d.bar(100, 220, 590, "done", "owns partitions 128 to 255")
	d.bar(690, 220, 150, "done", "owns 0 to 255")
	d.arrow(690, 220, 690, 142, false)
	d.say(585, 190, "soft", "claims, epoch 8")
	d.say(690, 262, "ink", "the runs of A continue")
	d.arrow(760, 47, 760, 118, true)
	d.say(610, 40, "soft", "a late commit of A, epoch 7")
	d.say(772, 90, "hurt", "is refused")
	d.say(100, 285, "soft", "A clean shutdown hands over in milliseconds, without waiting for the lease.")
	d.say(100, 307, "soft", "Attempts that ran on A are recorded as lost, are not charged, and run again on B.")
}

// house: the storeys of the code. Imports and calls run down.
func house(d *drawing) {
	d.size(860, 470, "The house: imports and calls run down")
	storeys := []struct{ name, what string }{
		{"faces", "cmd/perdure · api · dashboard · access"},
		{"public", "perdure · ops · view · perduretest · telemetry"},
		{"rooms of the engine", "engine · request · inspect · placement · dispatch · attempt · commit · post · member"},
		{"stores", "store · memory · sqlite · postgres · copying · codec"},
		{"flow files", "flow · syntax · eval · check · rehearsal"},
		{"declarations", "activity · workflow · gate · schedule · intercept"},
		{"pure", "retry · history · core · coro · gates · policylab: no clock, no I/O, no goroutines"},
	}
	for i, s := range storeys {
		d.box(20, 20+58*i, 640, 48, "line", s.name, s.what)
	}
	d.arrow(690, 40, 690, 400, false)
	d.say(702, 225, "soft", "imports and calls")
	d.box(20, 430, 640, 30, "note", "one database: SQLite, PostgreSQL")
	d.say(702, 60, "ink", "beside it:")
	for i, beside := range []string{"sim, torture,", "storetest, killtest;", "bench, lab, tools;", "examples"} {
		d.say(702, 82+20*i, "soft", beside)
	}
}
