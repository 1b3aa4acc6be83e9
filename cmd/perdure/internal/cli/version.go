package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionInfo is which build this is.
type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	System   string `json:"system"`
}

const aboutItself = "It is about the command only."

func readVersion() versionInfo {
	v := versionInfo{Version: "(unknown)", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "version",
		Short:       "Show the version",
		Example:     "  perdure version\n  perdure version -o json",
		Args:        a.noArguments,
		Annotations: map[string]string{noDatabase: aboutItself, noGroup: aboutItself},
		RunE: func(*cobra.Command, []string) error {
			v := readVersion()
			if a.format != formatTable {
				return a.document(v)
			}
			a.printf("perdure %s (%s, %s)\n", v.Version, v.Go, v.System)
			if v.Revision != "" {
				changed := ""
				if v.Modified {
					changed = ", with changes"
				}
				a.printf("revision %s%s\n", v.Revision, changed)
			}
			return nil
		},
	}
}
