package flow_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/perduretest"
)

// TestW4_WhateverTheAnswerIs: the request has had its effect, so status, headers and body
// are there. What cannot be a value fails when it is worked with, and is handed on as it is.
func TestW4_WhateverTheAnswerIs(t *testing.T) {
	const huge = "123456789012345678901234567890"
	var posted string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/huge":
			fmt.Fprintf(w, `{"id": %s, "n": 1, "x": 1e999}`, huge)
		case "/deep":
			fmt.Fprint(w, strings.Repeat("[", 5000)+strings.Repeat("]", 5000))
		case "/wide":
			fmt.Fprint(w, "[1"+strings.Repeat(",1", 500_000)+"]")
		default:
			body, _ := io.ReadAll(r.Body)
			posted = string(body)
		}
	}))
	defer server.Close()
	text := `fn main(input: [url], output: [r]):
    a = @http.get(url=url + "/huge")
    @http.post(url=url + "/", json=a.json)
    r = [a.status, str(a.json.id), a.json.n + 1, a.json == a.json, a.json.id == a.json.n]
    for op in ["+", "<", "-"]:
        try:
            if op == "+":
                x = a.json.id + 1
            elif op == "<":
                x = a.json.id < 1
            else:
                x = -a.json.x
        except OverflowError as e:
            r = r + [e.message]
    for path in ["/deep", "/wide"]:
        b = @http.get(url=url + path)
        sleep 1
        try:
            x = b.json
        except LimitError as e:
            r = r + [b.status, len(b.body), get(b.headers, "content-type") != None, startswith(e.message, "the JSON of the answer cannot be read")]
        @log(message=b.status)
`
	out, err := really(t, text, map[string]string{"url": server.URL}, flow.Log(func(string) {}))
	tooLarge := `"the number ` + huge + ` does not fit into 64 bits; str(x) makes a text of it"`
	want := `[200,"` + huge + `",2,true,false,` + tooLarge + `,` + tooLarge + `,"the number 1e999 does not fit into 64 bits; str(x) makes a text of it",200,10000,true,true,200,1000003,true,true]`
	if out != want || err != nil {
		t.Errorf("%s, %v\nwant %s", out, err, want)
	}
	if posted != `{"id":`+huge+`,"n":1,"x":1e999}` {
		t.Errorf("posted %s", posted)
	}
}

// TestW4_KindsOfErrors: a wrong argument is an error of the file, in its words and types,
// and no other attempt is made.
func TestW4_KindsOfErrors(t *testing.T) {
	var hosts []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { hosts = append(hosts, r.Host) }))
	defer server.Close()
	text := `fn main(input: [url], output: [r]):
    @http.get(url=url, headers={"Host": "other.example"})
    r = []
    for headers in [{"X": 1}, [1], {"a b": "1"}, {"X": "1\n2"}, {"Content-Length": "5"}]:
        try:
            @http.get(url=url, headers=headers) [retry: 3]
        except (TypeError, ValueError) as e:
            r = r + [e.type + ", " + str(e.attempts) + ": " + e.message]
    for address in ["example.org", 7]:
        try:
            @http.get(url=address) [retry: 3]
        except (TypeError, ValueError) as e:
            r = r + [e.type + ", " + str(e.attempts) + ": " + e.message]
    r = join(r, "\n")
`
	out, err := really(t, text, map[string]string{"url": server.URL})
	want := strings.Join([]string{
		"TypeError, 1: a part of the argument headers is a text, and got a number",
		"TypeError, 1: the argument headers is a dictionary, and got a list",
		`ValueError, 1: the header name \"a b\" cannot be sent; it has letters, digits and minus signs`,
		"ValueError, 1: the value of the header X cannot be sent: it has a line break or another control character",
		"ValueError, 1: the header Content-Length is made from the body of the request; leave it out",
		`ValueError, 1: the url \"example.org\" cannot be used: it begins with http:// or https:// and a host`,
		"TypeError, 1: the argument url is a text, and got a number",
	}, "\\n")
	if out != `"`+want+`"` || err != nil {
		t.Errorf("%s, %v\nwant %s", strings.ReplaceAll(out, "\\n", "\n"), err, want)
	}
	if fmt.Sprint(hosts) != "[other.example]" {
		t.Errorf("asked for %q", hosts)
	}
}

// mute is a server that never answers.
type mute struct{}

func (mute) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestW4_NothingIsWaitedForForEver: a request without a timeout ends when nothing comes.
func TestW4_NothingIsWaitedForForEver(t *testing.T) {
	r := runtimeOf(t, flow.HTTPClient(&http.Client{Transport: mute{}}))
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(r.Definitions()...)
		p := program(t, r, "", "try:\n    @http.get(url=\"http://mute.example/\") [NetworkError -> retry: 1]\nexcept NetworkError as e:\n    a = [e.attempts, e.message]\ntry:\n    @http.get(url=\"http://mute.example/\") [timeout: 1h]\nexcept Timeout as e:\n    return a + [e.attempts]\n")
		began := time.Now()
		out, err := perduretest.Run(env, flow.Workflow, "run", p)
		if string(out) != `[2,"there was no answer for 5m0s; [timeout: ...] sets another limit",1]` || err != nil {
			t.Errorf("%s, %v", out, err)
		}
		if took := time.Since(began).Round(time.Minute); took != 2*flow.MaxSilence+time.Hour {
			t.Errorf("it took %s", took)
		}
	})
}
