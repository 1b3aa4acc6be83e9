package cli

import (
	"runtime/debug"
	"testing"
)

func TestHowToCallItAgain(t *testing.T) {
	info := &debug.BuildInfo{Path: "example.org/p/cmd/p"}
	for _, c := range []struct{ version, sum, want string }{
		{"v1.2.3", "h1:x", "go run example.org/p/cmd/p@v1.2.3"},
		{"v0.0.0-20260102030405-abcdefabcdef", "", "go run ./cmd/perdure"}, // stamped in a checkout
		{"(devel)", "", "go run ./cmd/perdure"},
	} {
		info.Main = debug.Module{Version: c.version, Sum: c.sum}
		if got := goRun(info, true); got != c.want {
			t.Errorf("version %s: %q, want %q", c.version, got, c.want)
		}
	}
	if got := goRun(nil, false); got != "go run ./cmd/perdure" {
		t.Errorf("without build information: %q", got)
	}
}
