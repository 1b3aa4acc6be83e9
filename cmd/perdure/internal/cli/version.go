package cli

import (
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
)

// versionInfo identifies the build.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the commit
	Date     string `json:"date,omitempty"`     // of the commit, RFC 3339
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	System   string `json:"system"`
}

const aboutItself = "It is about the command only."

func readVersion() versionInfo {
	v := versionInfo{Version: "(unknown)", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		v.read(info)
	}
	return v
}

// pseudo matches the end of a pseudo-version, with the time and hash of its commit.
var pseudo = regexp.MustCompile(`[.-](\d{14})-([0-9a-f]{12})$`)

// read takes what the build recorded. A build from a module proxy knows of its commit only
// what its version contains.
func (v *versionInfo) read(info *debug.BuildInfo) {
	v.Version = info.Main.Version
	if m := pseudo.FindStringSubmatch(v.Version); m != nil {
		v.Revision = m[2]
		if at, err := time.Parse("20060102150405", m[1]); err == nil {
			v.Date = at.Format(time.RFC3339)
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
}

func versionCommand(scr *screen) *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Show the version",
		Example:     "  perdure version\n  perdure version -o json",
		Annotations: map[string]string{noDatabase: aboutItself, noGroup: aboutItself},
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			return scr.show(v, func() { scr.printf("%s", v) })
		},
	}
}

// String returns what the command prints.
func (v versionInfo) String() string {
	text := fmt.Sprintf("perdure %s (%s, %s)\n", v.Version, v.Go, v.System)
	if v.Revision == "" {
		return text
	}
	changed := ""
	if v.Modified {
		changed = ", with changes"
	}
	return text + fmt.Sprintf("commit %s of %s%s\n", v.Revision, v.Date, changed)
}
