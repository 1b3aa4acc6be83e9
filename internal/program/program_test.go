package program

import (
	"runtime/debug"
	"testing"
)

// TestE116_ABuildNamesItsCode: two programs with different code never have the same build,
// unless an option says so.
func TestE116_ABuildNamesItsCode(t *testing.T) {
	info := func(version, revision, modified string) *debug.BuildInfo {
		b := &debug.BuildInfo{Main: debug.Module{Version: version}}
		if revision != "" {
			b.Settings = []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: modified}}
		}
		return b
	}
	const revision = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "hash"},
		{info("", "", ""), "hash"},
		{info("(devel)", "", ""), "hash"},
		{info("(devel)", revision, "false"), "0123456789ab"},
		{info("(devel)", revision, "true"), "0123456789ab-hash"},
		{info("v1.2.3", revision, "false"), "v1.2.3-0123456789ab"},
		{info("v0.0.0-20260101000000-0123456789ab", revision, "false"), "v0.0.0-20260101000000-0123456789ab"},
		{info("v1.2.3", "", ""), "v1.2.3-hash"}, // of a program with other build flags, or a copy that was changed
	} {
		if got := buildOf(c.info, func() string { return "hash" }); got != c.want {
			t.Errorf("%+v is named %q, want %q", c.info, got, c.want)
		}
	}
	if got := executableHash(); len(got) != 16 {
		t.Errorf("the executable's hash is %q", got)
	}
}
