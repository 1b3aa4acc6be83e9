package determinism_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/perdure/perdure/tools/determinism"
	"golang.org/x/tools/go/analysis/analysistest"
)

// TestE41_Analyzer: each offence of the package is reported where a comment says
// so, and nothing else; nothing is reported of a package without any.
func TestE41_Analyzer(t *testing.T) {
	analysistest.Run(t, "testdata/workflows", determinism.Analyzer, "./...")
}

// TestE41_Fixes: where the replacement has the same type, it is offered.
func TestE41_Fixes(t *testing.T) {
	analysistest.RunWithSuggestedFixes(t, "testdata/workflows", determinism.Analyzer, "./fixes")
}

// TestE41_VetTool: go vet runs the program that is to be installed, and fails
// where there is something to report only.
func TestE41_VetTool(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "perdurevet"+map[bool]string{true: ".exe"}[runtime.GOOS == "windows"])
	if out, err := exec.Command("go", "build", "-o", tool, "../cmd/perdurevet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	vet := func(packages string) (string, error) {
		cmd := exec.Command("go", "vet", "-vettool="+tool, packages)
		cmd.Dir = "testdata/workflows"
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := vet("./clean"); err != nil {
		t.Errorf("clean code: %v\n%s", err, out)
	}
	out, err := vet(".")
	if err == nil || !strings.Contains(out, "offences.go:") || !strings.Contains(out, "use workflow.Now") {
		t.Errorf("offences: %v\n%s", err, out)
	}
}
