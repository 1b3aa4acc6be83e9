package cli

import (
	"runtime/debug"
	"testing"
)

// TestVersionTellsTheCommit even where there was no repository at the build.
func TestVersionTellsTheCommit(t *testing.T) {
	type commit struct{ revision, date string }
	for name, c := range map[string]struct {
		info debug.BuildInfo
		want commit
	}{
		"checkout": {debug.BuildInfo{Main: debug.Module{Version: "v0.1.1-0.20260102030405-0123456789ab+dirty"}, Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		}}, commit{"0123456789abcdef", "2026-01-02T03:04:05Z"}},
		"commit from a proxy": {debug.BuildInfo{Main: debug.Module{Version: "v0.1.1-0.20260102030405-0123456789ab"}}, commit{"0123456789ab", "2026-01-02T03:04:05Z"}},
		"first commits":       {debug.BuildInfo{Main: debug.Module{Version: "v0.0.0-20260102030405-0123456789ab"}}, commit{"0123456789ab", "2026-01-02T03:04:05Z"}},
		"tag":                 {debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}, commit{}},
	} {
		var v versionInfo
		v.read(&c.info)
		if got := (commit{v.Revision, v.Date}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
