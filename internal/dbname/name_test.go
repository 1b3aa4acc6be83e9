package dbname

import (
	"strings"
	"testing"
)

// TestKeywordsNameAServer: they never become the name of a file, and no text shows their
// password.
func TestKeywordsNameAServer(t *testing.T) {
	for text, want := range map[string]string{
		"host=db password=secret dbname=shop":                "postgres:///shop?host=db",
		"dbname = shop user=me password='sec ret' port=5433": "postgres:///shop?user=me&port=5433",
		"host=db pooled=true password=secret dbname=shop":    "postgres:///shop?host=db&pooled=true",
		`host='/run/pg' password='se\'cret' schema=mine`:     "postgres:///?host=%2Frun%2Fpg&schema=mine",
	} {
		if kind, _ := Kind(text); kind != "postgres" {
			t.Errorf("%s is of the kind %s", text, kind)
		}
		a, err := Server(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if a.Text(false) != want || !strings.Contains(a.Text(true), "password=se") {
			t.Errorf("%s is %s; want %s", text, a.Text(false), want)
		}
	}
	if _, err := Server("host=db password='secret"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("an open quote: %v", err)
	}
	for _, text := range []string{"shop.db", "./host=db", "sqlite:host=db", `C:\shop.db`} {
		if kind, _ := Kind(text); kind != "sqlite" {
			t.Errorf("%s is of the kind %s", text, kind)
		}
	}
}
