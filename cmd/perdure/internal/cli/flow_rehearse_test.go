package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// TestW20_FlowTest: the command holds files to their cases, and shows one of them in
// virtual time, without a database.
func TestW20_FlowTest(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"a.flow":      "x = @http.get(url=\"http://h\") [retry: 2, fixed: 1h, jitter: none]\nsleep \"1d\"\nreturn x.body\n",
		"a.test.json": `{"cases": [{"name": "well", "actions": {"http.get": [{"fails": ["NetworkError"], "returns": {"body": "b"}}]}, "expect": {"result": "b", "took": "25h"}}, {"name": "ill", "actions": {"http.get": [{"fails": ["A", "B", "C"]}]}, "expect": {"result": "b"}}]}`,
		"b.flow":      "@file.read(path=\"x\")\n",
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for args, want := range map[string][]string{
		"flow test a.flow":                          {"1", "ok  a.flow: well", "failed  a.flow: ill", "it fails with C", "1 of 2 cases failed"},
		"flow test b.flow":                          {"2", "no file \"b.test.json\""},
		"flow run a.flow --fast-forward":            {"0", "NetworkError; next in 1h0m0s", "\"b\"", "sleeps 24h0m0s"},
		"flow run a.flow --fast-forward --case ill": {"3", "@http.get failed, attempt 3: C"},
		"flow run a.flow --fast-forward --case no":  {"2", "There is no case"},
		"flow run a.flow --case well":               {"2", "--fast-forward"},
		"flow run a.flow --fast-forward --id x":     {"2", "stores nothing"},
	} {
		var out bytes.Buffer
		code := Run(t.Context(), Env{Args: strings.Split(args, " "), Stdout: &out, Stderr: &out, Getenv: os.Getenv, Now: time.Now})
		for i, part := range want {
			if i == 0 && string(rune('0'+code)) != part || i > 0 && !strings.Contains(out.String(), part) {
				t.Errorf("%s: exit %d, %q lacks %q", args, code, out.String(), part)
			}
		}
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != len(files) {
		t.Errorf("%v, %v", entries, err)
	}
}
