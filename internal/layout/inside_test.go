package layout

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inside is a package whose own calls run down.
type inside struct {
	name string
	// upward is the share of the calls between its files that may run up, in percent.
	upward int
	// order lists its parts, the lowest first, each with its files in order: a call to an
	// earlier file runs down. All files but doc.go are in the list.
	order string
}

var insides = []inside{
	{"internal/core", 2, `
		values:     ids mismatch turn detail control pin times input progress within call
		journal:    parts
		ledger:     ledger
		row:        runrow
		calls:      calls callrows
		gating:     gating
		attempts:   ready apply verdict attempt
		signals:    mailbox
		children:   child
		retries:    runretry
		facts:      chain events
		code:       code replay cut
		blocks:     block
		operations: operate runcontrol
		run:        run command update step examination
		gates:      standing gate gateoperate
		schedules:  fire timetable
	`},
	{"internal/engine", 18, `
		values:    pools stepper
		locations: location
		residents: slots durable inbox resident lost intake dispatcher line
		runs:      child chain attempt queue suspects park move determinism load run turn answer standing
		places:    takeover holder queues switches
		engine:    health local engine
	`},
}

// TestCallsInsideAPackageRunDown counts the places in the code of a file that call another
// file of the package. The list of those that run up is printed with -v.
func TestCallsInsideAPackageRunDown(t *testing.T) {
	for _, in := range insides {
		t.Run(in.name, func(t *testing.T) {
			s, err := loadStoreys(in.name)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range s.split(in.order) {
				t.Errorf("%s/%s is not both in the package and once in its list: say to which part it belongs, and what it stands on", in.name, file)
			}
			down, up := s.count()
			slices.Sort(up)
			all := down + len(up)
			t.Logf("%d calls run down and %d up, which is %d%%:\n%s", down, len(up), len(up)*100/max(all, 1), strings.Join(up, "\n"))
			if down < 100 {
				t.Errorf("only %d calls between files were found", down)
			}
			if len(up)*100 >= all*in.upward {
				t.Errorf("%d of %d calls between the files of %s run up; less than %d%% may. A part uses what is below it and tells the one above by what it returns (go test -v lists them)", len(up), all, in.name, in.upward)
			}
		})
	}
}

// split makes each file of the one package a storey, in the order of a list. It returns the
// files that are missing in the list or in the package, or are in the list twice.
func (s *storeys) split(order string) (wrong []string) {
	whole := s.storeys[0]
	files := map[string]*ast.File{}
	for _, f := range whole.files {
		files[filepath.Base(s.file(f))] = f
	}
	s.storeys = nil
	for line := range strings.Lines(order) {
		for _, name := range strings.Fields(line[strings.Index(line, ":")+1:]) {
			f := files[name+".go"]
			if f == nil {
				wrong = append(wrong, name+".go")
				continue
			}
			delete(files, name+".go")
			s.storeys = append(s.storeys, &storey{name: name + ".go", pkg: whole.pkg, files: []*ast.File{f}, info: whole.info})
		}
	}
	for name := range files {
		if name != "doc.go" {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	s.index()
	return wrong
}
