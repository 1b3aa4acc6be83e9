package rehearsal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/flow/rehearsal"
	"github.com/perdure/perdure/internal/flow/syntax"
)

// TestW20_ExamplesHaveCases that hold, and a case that expects something else fails.
func TestW20_ExamplesHaveCases(t *testing.T) {
	files, err := filepath.Glob("../../../flow/examples/*.test.json")
	if err != nil || len(files) < 6 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(strings.TrimSuffix(path, ".test.json") + ".flow")
		if err != nil {
			t.Fatal(err)
		}
		file, err := syntax.Parse(path, string(text))
		if err != nil {
			t.Fatal(err)
		}
		cases, err := rehearsal.Cases(data)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, c := range cases {
			out, err := rehearsal.Run(file, c, nil)
			if err != nil {
				t.Errorf("%s, %s: %v", path, c.Name, err)
				continue
			}
			for _, fault := range c.Faults(out) {
				t.Errorf("%s, %s: %s", path, c.Name, fault)
			}
		}
	}
}

// TestW20_U6_WhatIsNotAsExpected is said.
func TestW20_U6_WhatIsNotAsExpected(t *testing.T) {
	for text, want := range map[string]string{
		`return 1|{"expect": {"result": 2}}`:                                                                                  "the result is 1, and 2 is expected",
		`return 1|{"expect": {"error": "Bad"}}`:                                                                               "it does not fail, and Bad is expected",
		`fail("no", "Bad")|{"expect": {"result": 2}}`:                                                                         "it fails with Bad: 1:1: no",
		`fail("no", "Bad")|{"expect": {"error": "Bad"}}`:                                                                      "",
		`sleep 90|{"expect": {"took": "1m"}}`:                                                                                 "it takes 1m30s, and 1m are expected",
		`@a(x=1)|{"actions": {"a": [{}]}, "expect": {"calls": {"a": 2}}}`:                                                     "@a is called 1 times, and 2 are expected",
		`@a(x=1)|{"actions": {"a": [{"when": {"x": 2}}]}, "expect": {"took": "1s"}}`:                                          `no mock of case "c" fits @a{"x":1}`,
		"try:|    @a(x=1)|except:|    return 7|{\"actions\": {\"a\": [{\"when\": {\"x\": 2}}]}, \"expect\": {\"result\": 7}}": `no mock of case "c" fits @a{"x":1}`,
		`return @a(h={"A": "Bearer " + secret("K")})|{"actions": {"a": [{"when": {"h": {"A": "Bearer *"}}, "returns": 7}]}, "expect": {"result": 7}}`: "",
		`return @a(h="Bearer " + secret("K"))|{"actions": {"a": [{"when": {"h": "Bearer x"}, "returns": 7}]}, "expect": {"result": 7}}`:               `fits @a{"h":"Bearer ***"}`,
		`x = wait signal s|{"expect": {"took": "1s"}}`:                                                                            "waits for a signal that the case does not send",
		`@a() [timeout: 2s]|{"actions": {"a": [{"takes": "1m"}]}, "expect": {"error": "Timeout", "took": "2s"}}`:                  "",
		`try [N -> retry: 2, fixed: 1m]:|    @a()|{"actions": {"a": [{"fails": ["N"]}]}, "expect": {"error": "N", "took": "2m"}}`: "",
		// What verify names is asked about a timeout: null is not done, anything else the result.
		`return @a() [verify: @f(x=1)] [retry: 3, fixed: 1m] [timeout: 2s]|{"actions": {"a": [{"takes": "1m"}], "f": [{"when": {"x": 1}, "returns": 7}]}, "expect": {"result": 7, "took": "2s", "calls": {"a": 1, "f": 1}}}`:     "",
		`return @a() [verify: @f()] [retry: 3, fixed: 1m]|{"actions": {"a": [{"fails": ["Timeout", "Timeout"], "returns": 9}], "f": [{"returns_each": [null, 7]}]}, "expect": {"result": 7, "took": "1m", "calls": {"f": 2}}}`:   "",
		`return @a() [verify: @f()] [retry: 3, fixed: 1m]|{"actions": {"a": [{"fails": ["Gone"], "unknown": true, "returns": 9}], "f": [{"fails": ["N"], "returns": 7, "takes": "1s"}]}, "expect": {"result": 7, "took": "3s"}}`: "",
		`return @a() [verify: @f()] [retry: 3, fixed: 1m]|{"actions": {"a": [{"fails": ["Gone"], "returns": 9}]}, "expect": {"result": 9, "took": "1m"}}`:                                                                        "",
		`@a() [verify: @f()] [retry: 2, fixed: 1m]|{"actions": {"a": [{"fails": ["Timeout", "Timeout", "Timeout"]}], "f": [{}]}, "expect": {"error": "Timeout", "took": "2m", "calls": {"f": 3}}}`:                               "",
		`@a() [verify: @f()]|{"actions": {"a": [{"fails": ["Timeout"]}]}, "expect": {"took": "1s"}}`:                                                                                                                             `no mock of case "c" fits @f{}`,
		`@a() [verify: @f()]|{"actions": {"a": [{"fails": ["Timeout"]}], "f": [{"fails": ["N", "N", "N", "N", "N"]}]}, "expect": {"took": "1s"}}`:                                                                                "@a waits for a person: @f did not say in 5 questions whether it was done",
		`@a() [unknown: pause]|{"actions": {"a": [{"fails": ["Timeout"]}]}, "expect": {"took": "1s"}}`:                                                                                                                           "@a waits for a person after attempt 1 (unknown_outcome)",
		`@a() [unknown: verify]|{"actions": {"a": [{"fails": ["Timeout"]}]}, "expect": {"took": "1s"}}`:                                                                                                                          "a case asks only whom [verify: @action] names",
		`@a() [retry: 3, unknown: fail]|{"actions": {"a": [{"fails": ["Timeout"]}]}, "expect": {"error": "UnknownOutcome", "took": "0s"}}`:                                                                                       "",
		`@a() [verify: @f()] [retry: 3, fixed: 1s, unknown: repeat]|{"actions": {"a": [{"fails": ["Gone"], "unknown": true}]}, "expect": {"took": "1s"}}`:                                                                        "",
		`while True:|    sleep 1|{"expect": {"took": "1s"}}`: "has not ended",
		`return 1|{"expect": {}}`:                            "expects nothing",
		`return 1|{"expect": {"took": "x"}}`:                 "is not a duration",
		`return 1|{"expects": {}}`:                           "unknown field",
	} {
		parts := strings.Split(text, "|")
		n := len(parts) - 1
		file, err := syntax.Parse("", strings.Join(parts[:n], "\n")+"\n")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		cases, err := rehearsal.Cases([]byte(`{"cases": [{"name": "c", ` + parts[n][1:] + `]}`))
		if err == nil {
			var out *rehearsal.Outcome
			if out, err = rehearsal.Run(file, cases[0], nil); err == nil {
				got = strings.Join(cases[0].Faults(out), "; ")
			}
		}
		if err != nil {
			got = err.Error()
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s\n%q, want %q", text, got, want)
		}
	}
}

func FuzzW20_Cases(f *testing.F) {
	f.Add([]byte(`{"cases": [{"name": "a", "actions": {"x": [{"takes": "1s", "fails": ["A"], "returns_each": [1]}]}, "signals": [{"name": "s"}], "expect": {"result": 1}}]}`))
	file, err := syntax.Parse("", "fn main(input: [], output: [a]):\n    a = @x(y=1) [retry: 2]\n    b = wait signal s [timeout: 1m]\n")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cases, err := rehearsal.Cases(data)
		if err != nil {
			return
		}
		for _, c := range cases {
			if out, err := rehearsal.Run(file, c, nil); err == nil {
				c.Faults(out)
			}
		}
	})
}
