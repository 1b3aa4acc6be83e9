package dashboard

import "testing"

func TestF6_EveryPageInABrowser(t *testing.T) {
	srv, _ := served(t, made(t))
	b := browse(t)
	b.open(srv.URL + "/shop/")
	b.looks("overview")
	b.golden("overview")
}
