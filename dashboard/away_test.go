package dashboard

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/pgtest"
	"github.com/perdure/perdure/store/postgres"
)

// TestF43_ADeadDatabase: a database that dies under an open page leaves the page as it is,
// which says why it is old and what to do, and goes on by itself when the database is back.
func TestF43_ADeadDatabase(t *testing.T) {
	b := browse(t)
	server := pgtest.Start(t)
	c := newTill()
	srv, eng := servedBy(t, postgres.URL(server.Database(t)), perdure.Register(c.workflow, c.activity), perdure.NodeName("shop-1"))
	must(t, eng.Start(t.Context()))
	waits(t, eng, c, "a", "b")
	b.open(srv.URL + "/shop/runs")
	hidden := func() bool { return js[bool](b, `document.querySelector("#away").hidden`) }
	if !hidden() {
		t.Error("a page that is well says that it is not")
	}
	rows := `document.querySelectorAll("main tbody tr").length`

	server.Crash(t)
	b.wait(`!document.querySelector("#away").hidden`)
	b.wait(`/^as of \d+s ago, no answer$/.test(document.querySelector("#age").textContent)`)
	says := b.text("#away")
	for _, want := range []string{"The database does not answer", "connect", "Check that it runs and can be reached: " + eng.Location(), "Nothing is lost", "tries again by itself", "What you see is ", " old."} {
		if !strings.Contains(says, want) {
			t.Errorf("the page does not say %q: %s", want, says)
		}
	}
	if n := js[int](b, rows); n != 2 {
		t.Errorf("of the page that was there %d rows are left: %s", n, b.text("main"))
	}
	b.looks("away")
	b.wait(`/^What you see is ([5-9]|\d\d)s old\.$/.test(document.querySelector("#away .old").textContent)`)
	b.calm() // the browser has nothing to say about it, and nothing has moved

	// A page that is opened meanwhile says the same in its place, with the status of an error.
	resp, err := http.Get(srv.URL + "/shop/")
	must(t, err)
	if page := body(t, resp); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(page, "<h1>The database does not answer</h1>") {
		t.Errorf("a new page has status %d and says %s", resp.StatusCode, page)
	}
	other := b.beside()
	other.do(chromedp.Navigate(srv.URL + "/shop/"))
	other.wait(`document.querySelector("h1")?.textContent === "The database does not answer"`)
	other.looks("away-new")
	other.complaints = nil // the browser notes that the answer has the status of an error

	server.Restart(t)
	b.wait(`document.querySelector("#away").hidden`)
	_, err = perdure.Start(t.Context(), eng, c.workflow, "c", "c")
	must(t, err)
	b.wait(rows + ` === 3`)
	b.wait(`/^as of \ds ago$/.test(document.querySelector("#age").textContent)`)
	b.calm()
	other.wait(`document.querySelector(".tiles") !== null && document.querySelector("#age").textContent.endsWith(" ago")`)
	js[float64](other, "window.jumps = 0") // an error has become a page, and what is below it has moved
	other.calm()
}

// TestF43_AServerThatIsGone: the page says that of the dashboard itself as well.
func TestF43_AServerThatIsGone(t *testing.T) {
	b := browse(t)
	srv, _ := served(t, filepath.Join(t.TempDir(), "empty.db"))
	b.open(srv.URL + "/shop/")
	srv.CloseClientConnections()
	srv.Close()
	b.wait(`!document.querySelector("#away").hidden`)
	if says := b.text("#away"); !strings.Contains(says, "The server does not answer") || !strings.Contains(says, "perdure dashboard still runs") {
		t.Errorf("the page says %s", says)
	}
	if b.text("h1") == "(none)" {
		t.Errorf("the page is gone: %s", b.text("main"))
	}
}
