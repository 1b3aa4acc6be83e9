package dashboard

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/perdure/perdure"
)

func TestF7_LiveUpdatesCanBePaused(t *testing.T) {
	b := browse(t)
	srv, eng := served(t, made(t))
	b.open(srv.URL + "/shop/")
	running := func() string { return b.text(".tiles a") }
	start := func(id string) {
		_, err := perdure.Start(t.Context(), eng, checkout, id, "ok")
		must(t, err)
	}
	b.wait(`/^as of \d+s ago$/.test(document.querySelector("#age").textContent)`)
	before := running()
	start("new-1")
	b.wait(`document.querySelector(".tiles a").innerText !== ` + quoted(before))

	// While it is paused the page stays as it is and grows old.
	b.do(chromedp.KeyEvent("p"))
	b.wait(`/, paused$/.test(document.querySelector("#age").textContent)`)
	before = running()
	start("new-2")
	b.wait(`/^as of ([5-9]|\d\d)s ago, paused$/.test(document.querySelector("#age").textContent)`)
	if now := running(); now != before {
		t.Errorf("the page changed from %q to %q although it is paused", before, now)
	}
	b.do(chromedp.Click(chromedp.CSS("#pause")))
	b.wait(`document.querySelector(".tiles a").innerText !== ` + quoted(before))

	// A server that is gone leaves the page and says so.
	srv.CloseClientConnections()
	srv.Close()
	b.wait(`/, no answer$/.test(document.querySelector("#age").textContent)`)
	if b.text("h1") != "No node serves this database" {
		t.Errorf("the page is gone: %s", b.text("main"))
	}
}
