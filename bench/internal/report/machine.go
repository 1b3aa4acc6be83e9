package report

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/perdure/perdure/bench/internal/meter"
	"github.com/perdure/perdure/bench/internal/place"
)

// Machine is where and with what the figures were measured.
type Machine struct {
	Date     string `json:"date"`
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	Kernel   string `json:"kernel"`
	Load     string `json:"load"` // averages when the run began
	Sync     string `json:"sync"` // how long the disk takes
	Go       string `json:"go"`
	Postgres string `json:"postgres,omitempty"` // version, if it was used
	Commit   string `json:"commit"`
	Modules  string `json:"modules"`
}

// syncs is how many syncs of the disk are measured.
const syncs = 500

// Look describes the machine.
func Look(ctx context.Context, p *place.Places, postgres bool) (Machine, error) {
	m := Machine{
		Date:   time.Now().UTC().Format(time.DateOnly),
		CPU:    cpuModel(),
		Cores:  runtime.NumCPU(),
		Kernel: firstLine("/proc/sys/kernel/osrelease"),
		Load:   loadAverages(),
		Go:     runtime.Version(),
		Commit: commit(ctx),
		Modules: modules(
			"modernc.org/sqlite", "github.com/jackc/pgx/v5", "github.com/riverqueue/river",
			"zombiezen.com/go/sqlite", "github.com/ncruces/go-sqlite3", "github.com/mattn/go-sqlite3"),
	}
	times, err := p.SyncTimes(syncs)
	if err != nil {
		return m, err
	}
	t := meter.Sorted(times)
	m.Sync = fmt.Sprintf("p50 %s, p99 %s", t.Quantile(0.5).Round(time.Microsecond), t.Quantile(0.99).Round(time.Microsecond))
	if !postgres {
		return m, nil
	}
	server, err := p.Server(ctx)
	if err == nil {
		m.Postgres, err = server.Version(ctx)
	}
	return m, err
}

// Markdown describes the machine in a paragraph.
func (m Machine) Markdown() string {
	text := fmt.Sprintf("Measured %s at commit %s, on %d cores of %s, Linux %s. Load averages at the beginning: %s. 4 KiB written and synced to the disk: %s. %s, %s",
		m.Date, m.Commit, m.Cores, m.CPU, m.Kernel, m.Load, m.Sync, m.Go, m.Modules)
	if m.Postgres != "" {
		text += ", PostgreSQL " + m.Postgres + " on the same machine and a Unix socket"
	}
	return text + ".\n"
}

func loadAverages() string {
	fields := strings.Fields(firstLine("/proc/loadavg"))
	return strings.Join(fields[:min(3, len(fields))], ", ")
}

func firstLine(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	return line
}

func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// commit names the commit of the checkout, if it is one.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--exclude", "*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// modules names the versions of what the systems are made of.
func modules(paths ...string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "modules unknown"
	}
	var found []string
	for _, path := range paths {
		for _, m := range info.Deps {
			if m.Path == path {
				found = append(found, path+" "+m.Version)
			}
		}
	}
	return strings.Join(found, ", ")
}
