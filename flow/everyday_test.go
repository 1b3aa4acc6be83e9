package flow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/perduretest"
	"github.com/perdure/perdure/store/memory"
	"github.com/perdure/perdure/store/sqlite"
)

// TestW18_SecretsAreNeitherStoredNorShown: the server and a Go activity get the value;
// the database, the result, the variables and the errors do not have it.
func TestW18_SecretsAreNeitherStoredNorShown(t *testing.T) {
	const value = "s3cr3t-v4lue"
	var mu sync.Mutex
	got := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got[r.Header.Get("Authorization")]++
		fmt.Fprintf(w, `{"you sent": %q, "$secret": [{"name": "KEY"}]}`, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	pay := activity.New("pay", func(_ context.Context, in struct {
		Key  string `json:"key"`
		Fail bool   `json:"fail"`
		Any  any    `json:"any,omitempty"`
	}) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if data, _ := json.Marshal(in.Any); in.Any != nil && strings.Contains(string(data), value) {
			t.Errorf("an answer became a secret: %s", data)
		}
		got[in.Key]++
		if in.Fail {
			return "", &typed{"Bad", "no such key " + in.Key}
		}
		return "paid by " + in.Key, nil
	})
	var said []string
	r, err := flow.New(flow.Actions(pay), flow.Log(func(m string) { said = append(said, m) }), flow.Secrets(func(name string) (string, bool) { return value, name == "KEY" }))
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Load("s.flow", `fn main(input: [url], output: [r]):
    key = "Bearer " + secret("KEY")
    a = @http.get(url=url, headers={"Authorization": key}) [retry: 1]
    b = @pay(key=secret("KEY") + "!", fail=False, any=a.json)
    try:
        @pay(key=key, fail=True) [Bad -> retry: 1]
    except Bad as e:
        c = [e.type, e.message, e.attempts]
    try:
        @pay(key=secret("OTHER"), fail=False) [retry: 3]
    except SecretError as e:
        d = e.attempts
    @log(message=key)
    try:
        x = str(key)
    except TypeError:
        r = [a.json, b, c, d, key]
`)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "s.db")
	eng, err := perdure.Open(t.Context(), sqlite.File(path), perdure.Register(r.Definitions()...))
	if err == nil {
		err = eng.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.With(map[string]string{"url": server.URL})
	if err != nil {
		t.Fatal(err)
	}
	out, err := perdure.Run(t.Context(), eng, flow.Workflow, "run", p)
	want := `[{"you sent":"Bearer ***","$secret":[{"name":"KEY"}]},"paid by ***!",["Bad","no such key Bearer ***",2],1,"***"]`
	if string(out) != want || err != nil {
		t.Errorf("%s, %v", out, err)
	}
	if fmt.Sprint(said) != "[Bearer ***]" && fmt.Sprint(said) != "[***]" {
		t.Errorf("%q", said)
	}
	if got["Bearer "+value] != 3 || got[value+"!"] != 1 {
		t.Errorf("%v", got)
	}
	if err := eng.Close(); err != nil {
		t.Error(err)
	}
	files, _ := filepath.Glob(path + "*")
	for _, name := range files {
		if data, err := os.ReadFile(name); err != nil || bytes.Contains(data, []byte(value)) {
			t.Errorf("%s has the secret (%v)", name, err)
		}
	}
}

// TestW18_URLsAreNeverMalformed: what cannot stand in a URL is encoded.
func TestW18_URLsAreNeverMalformed(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.RequestURI+" "+r.URL.Query().Get("q"))
	}))
	defer server.Close()
	r, err := flow.New()
	if err != nil {
		t.Fatal(err)
	}
	run := func(text string) error {
		f, err := r.Load("", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.With(map[string]string{"url": server.URL})
		if err != nil {
			t.Fatal(err)
		}
		_, err = runOn(t, r, p)
		return err
	}
	if err := run(`fn main(input: [url], output: []):
    @http.get(url=url + "/a b?q=x y\u00e9\"<>&z=1")
    @http.get(url=url + "/?" + urlencode({"q": "a&b =\u00e9/+", "n": 1}))
    @http.get(url=url + "/" + urlencode("a/b ?") + "?q=1")
`); err != nil {
		t.Error(err)
	}
	want := []string{"/a%20b?q=x%20y%C3%A9%22%3C%3E&z=1 x yé\"<>", "/?q=a%26b%20%3D%C3%A9%2F%2B&n=1 a&b =é/+", "/a%2Fb%20%3F?q=1 1"}
	if strings.Join(asked, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q\nwant %q", asked, want)
	}
}

// runOn runs a program on an engine of its own.
func runOn(t *testing.T, r *flow.Runtime, p flow.Program) (json.RawMessage, error) {
	t.Helper()
	eng, err := perdure.Open(t.Context(), memory.New(), perdure.Register(r.Definitions()...))
	if err == nil {
		err = eng.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	return perdure.Run(t.Context(), eng, flow.Workflow, "run", p)
}

// TestW18_Downloads are whole or not there, and longer than a result may be.
func TestW18_Downloads(t *testing.T) {
	const size = 3 << 20
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short" {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			return
		}
		_, _ = w.Write(bytes.Repeat([]byte{0xff}, size))
	}))
	defer server.Close()
	dir := t.TempDir()
	r, err := flow.New(flow.Files(dir))
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Load("", `fn main(input: [url], output: [r]):
    a = @http.download(url=url + "/long", path="big.bin")
    try:
        @http.download(url=url + "/short", path="short.bin") [NetworkError -> retry: 1]
    except NetworkError as e:
        b = e.attempts
    c = @http.download(url=url + "/long", path="a/new/such.bin")
    r = [a.bytes, len(a.sha256), b, c.bytes]
`)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.With(map[string]string{"url": server.URL})
	if err != nil {
		t.Fatal(err)
	}
	out, err := runOn(t, r, p)
	if want := fmt.Sprintf(`[%d,64,2,%d]`, size, size); string(out) != want || err != nil {
		t.Errorf("%s, %v", out, err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 2 {
		t.Errorf("%q are there", names)
	}
	if info, err := os.Stat(filepath.Join(dir, "big.bin")); err != nil || info.Size() != size {
		t.Errorf("%v, %v", info, err)
	}
}

// TestW18_TemporaryFilesOfACrashAreRemoved by the next attempt.
func TestW18_TemporaryFilesOfACrashAreRemoved(t *testing.T) {
	dir := t.TempDir()
	r, err := flow.New(flow.Files(dir))
	if err != nil {
		t.Fatal(err)
	}
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(r.Definitions()...)
		// What a process leaves that dies while it writes: the file of the attempt before.
		p := program(t, r, "", "sleep 1\n@file.write(path=\"a.txt\", content=\"whole\") [retry: 1]\nreturn 1\n")
		h, err := perduretest.Start(env, flow.Workflow, "run", p)
		if err != nil {
			t.Fatal(err)
		}
		env.Inject(activity.Declare[any, any]("file.write"), perduretest.Fail(fmt.Errorf("lost")), perduretest.Attempts(1))
		id := env.Workflow("run").Describe().RunID
		part := filepath.Join(dir, "a.txt.part-"+id+"-2-1")
		if err := os.WriteFile(part, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := h.Result(); string(out) != "1" || err != nil {
			t.Errorf("%s, %v", out, err)
		}
		names, _ := filepath.Glob(filepath.Join(dir, "*"))
		if len(names) != 1 {
			t.Errorf("%q are there", names)
		}
	})
}
