package cli

import (
	"encoding/json"
	"testing"
)

// TestW19_CallsAreToldWithLineAndURL as far as one line alone fits the arguments, and without
// the values of secrets.
func TestW19_CallsAreToldWithLineAndURL(t *testing.T) {
	p := placesOf(`@http.get(url="http://a/x")
@http.get(url=base + "/tables")
@http.get(url="http://b/" + str(n) + "?q=1")
@file.write(path="a.txt", content="1")
@ping()
@http.post(url=u)
@http.post(url=v)
`)
	for _, c := range []struct{ action, input, want string }{
		{"http.get", `{"url":"http://a/x"}`, " (line 1) http://a/x"},
		{"http.get", `{"url":"http://c/tables"}`, " (line 2) http://c/tables"},
		{"http.get", `{"url":"http://b/7?q=1"}`, " (line 3) http://b/7?q=1"},
		{"http.get", `{"url":"http://b/7?q=1","headers":{}}`, " http://b/7?q=1"},
		{"file.write", `{"path":"a.txt","content":"1"}`, " (line 4) a.txt"},
		{"ping", `{}`, " (line 5)"},
		{"http.post", `{"url":"u"}`, " u"},
		{"http.post", `{"$secrets":{"url":{"$secret":[{"text":"http://x/"},{"name":"KEY"}]}}}`, " http://x/***"},
		{"other", `[1]`, ""},
	} {
		if got := p.describe(c.action, json.RawMessage(c.input)); got != c.want {
			t.Errorf("%s%s: %q, want %q", c.action, c.input, got, c.want)
		}
	}
	if got := placesOf("x = )"); got.describe("http.get", json.RawMessage(`{"url":"u"}`)) != " u" {
		t.Error("a text that is no file")
	}
}
