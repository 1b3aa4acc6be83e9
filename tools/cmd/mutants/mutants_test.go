package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sample = `package p

func (t *turn) commit(n int, names []string) bool {
	if n <= 0 || t.closed {
		return false
	}
	if err := t.check(); err != nil {
		return false
	}
	if t.err != nil {
		return t.err
	}
	t.mu.Lock()
	t.write(n)
	t.effect(n - 1)
	local := n
	local = 2
	t.count++
	if t.name == "a"+names[0] {
		t.log.Info("written")
	}
	t.last = nil
	return local != n
}

func (t *turn) String() string { t.write(1); return "" }
`

// TestP3_FaultsArePlantedBySyntax: each kind, where it means something, and nowhere else; and
// what is planted is the rest of the file as it was.
func TestP3_FaultsArePlantedBySyntax(t *testing.T) {
	found, err := plant("p/turn.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`guard: n <= 0 || t.closed => false && (n <= 0 || t.closed)`,
		`junction: n <= 0 || t.closed => &&`,
		`bound: n <= 0 => <`,
		`verdict: return false => true`,
		`verdict: return false => true`,
		`omission: t.write(n) => `,
		`omission: t.effect(n - 1) => `,
		`order: t.write(n) t.effect(n - 1) => t.effect(n - 1) t.write(n)`,
		`sign: n - 1 => +`,
		`count: t.count++ => t.count += 2`,
		`omission: t.count++ => `,
		`omission: t.last = nil => `,
		`equality: local != n => ==`,
	}
	var got []string
	for _, m := range found {
		got = append(got, m.Fault+": "+clip(m.Was)+" => "+clip(m.Is))
		changed := string(m.applied([]byte(sample)))
		if len(changed) != len(sample)-(m.to-m.from)+len(m.Is) || !strings.HasPrefix(changed, sample[:m.from]+m.Is) || !strings.HasSuffix(changed, sample[m.to:]) {
			t.Errorf("%s leaves\n%s", m.name(), changed)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("planted:\n%s\n\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestP3_TheSampleIsTheSame for a seed, whatever the order of the rooms, and another for another.
func TestP3_TheSampleIsTheSame(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	names := func(rooms []string, seed uint64) (names []string) {
		sample, all, err := sampled(root, rooms, seed, 20, "")
		if err != nil || len(sample) != 20 || all < 200 {
			t.Fatalf("%d of %d, %v", len(sample), all, err)
		}
		for _, m := range sample {
			names = append(names, m.name())
		}
		return names
	}
	first := names([]string{"internal/gates", "internal/commit"}, 1)
	if again := names([]string{"internal/commit", "internal/gates"}, 1); !slices.Equal(first, again) {
		t.Errorf("the same seed gives\n%s\nand\n%s", first, again)
	}
	if other := names([]string{"internal/gates", "internal/commit"}, 2); slices.Equal(first, other) {
		t.Error("another seed gives the same")
	}
	if _, _, err := sampled(root, []string{"internal/gate"}, 1, 1, ""); err == nil || !strings.Contains(err.Error(), "no Go file is in internal/gate") {
		t.Errorf("a room that is not there: %v", err)
	}
}

// TestP3_WhoFindsAFault is said as go test says it.
func TestP3_WhoFindsAFault(t *testing.T) {
	for said, want := range map[string]string{
		"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/of_two (0.0s)\n        x_test.go:1: no\nFAIL\n":                                 "TestA/of_two",
		"panic: test timed out after 4m0s\n\trunning tests:\n":                                                                       "a crash of the tests",
		"panic: test timed out after 4m0s\nrunning tests:\n\tTestB (4m0s)\n":                                                         "TestB, which did not end",
		"panic: nil map [recovered]\n\ngoroutine 7 [running]:\ngithub.com/perdure/perdure/internal/gates.TestC(0xc0001)\n":           "TestC, which panicked",
		"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\nexample.com/x.helper()\nFAIL\tx\t0.1s\n": "a crash of the tests",
		"ok  \tx\t0.1s\n": "",
	} {
		if got := killer(said); got != want {
			t.Errorf("%q is found by %q, want %q", said, got, want)
		}
	}
}

// TestP3_AFaultIsTried: it is found by the test that is about it, one that nobody can see lives, and
// one that does not compile is none.
func TestP3_AFaultIsTried(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                      "module example.com/m\n\ngo 1.26\n",
		"room/room.go":                "package room\n\nimport \"strings\"\n\nvar n int\n\nfunc Up(by int) bool {\n\tstrings.Clone(\"\")\n\tn += by - 1\n\treturn by < 3\n}\n",
		"room/room_test.go":           "package room\n\nimport \"testing\"\n\nfunc TestUp(t *testing.T) {\n\tif Up(1); n != 0 {\n\t\tt.Error(n)\n\t}\n}\n",
		"internal/engine/eng.go":      "package engine\n",
		"internal/sim/sim.go":         "package sim\n",
		"internal/engine/eng_test.go": "package engine\n\nimport (\n\t\"testing\"\n\n\t\"example.com/m/room\"\n)\n\nfunc TestEngine(t *testing.T) {\n\tif !room.Up(2) {\n\t\tt.Error()\n\t}\n}\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sample, _, err := sampled(dir, []string{"room"}, 1, 10, "")
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{root: dir, patient: 60e9}
	got := map[string]verdict{}
	for _, m := range sample {
		v, err := l.try(t.Context(), m)
		if err != nil {
			t.Fatal(err)
		}
		v.Took = 0
		got[m.Fault+" "+clip(m.Was)] = v
	}
	want := map[string]verdict{
		"sign by - 1":                {Killer: "TestUp"},
		"bound by < 3":               {},
		`omission strings.Clone("")`: {None: true}, // the import is not used
	}
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s: %+v, want %+v", name, got[name], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("tried: %v", got)
	}
}

func TestP3_ReasonsAreRead(t *testing.T) {
	known, err := reasons("# why\n\nf.go f bound: a < b | both are never equal\n")
	if err != nil || known["f.go f bound: a < b"] != "both are never equal" || len(known) != 1 {
		t.Errorf("%v, %v", known, err)
	}
	if _, err := reasons("f.go f bound: a < b\n"); err == nil {
		t.Error("no reason is a reason")
	}
	if _, err := reasons(equivalents); err != nil {
		t.Error(err)
	}
}

// TestP5_FaultsOfTheProtocolCanBePlanted: each is about a text that is there, once.
func TestP5_FaultsOfTheProtocolCanBePlanted(t *testing.T) {
	if len(protocolFaults) < 20 {
		t.Errorf("there are %d faults; want 20", len(protocolFaults))
	}
	names := map[string]bool{}
	for _, f := range protocolFaults {
		if names[f.name] {
			t.Errorf("two faults are named %q", f.name)
		}
		names[f.name] = true
		files, err := f.applied(filepath.Join("..", "..", ".."))
		if err != nil {
			t.Error(err)
		}
		for file, changed := range files {
			if _, err := parser.ParseFile(token.NewFileSet(), file, changed, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
		}
	}
}

// TestP3_ReasonsAreOfFaultsThatCanBePlanted: a reason whose line has moved or changed would hide
// nothing, and its fault would be said to live.
func TestP3_ReasonsAreOfFaultsThatCanBePlanted(t *testing.T) {
	known, err := reasons(equivalents)
	if err != nil {
		t.Fatal(err)
	}
	for name := range known {
		room := filepath.ToSlash(filepath.Dir(strings.Fields(name)[0]))
		if sample, _, err := sampled(filepath.Join("..", "..", ".."), []string{room}, 1, 1, name); err != nil || len(sample) == 0 {
			t.Errorf("no fault is called %q (%v)", name, err)
		}
	}
}
