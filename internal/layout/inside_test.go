package layout

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// insides are the packages whose own calls run down: their parts, the lowest first, each
// with its files in order. A call to an earlier file runs down. All files stand in the list.
var insides = map[string]string{
	"internal/core": `
CORE
	`,
}

// maxUpwardInside is the share of the calls between the files of a package that may run up,
// in percent.
const maxUpwardInside = 25

// TestCallsInsideAPackageRunDown counts the places in the code of a file that call another
// file of the package. The list of those that run up is printed with -v.
func TestCallsInsideAPackageRunDown(t *testing.T) {
	for name, order := range insides {
		t.Run(name, func(t *testing.T) {
			s, err := loadStoreys(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range s.split(order) {
				t.Errorf("%s/%s is not both in the package and once in its list: say to which part it belongs, and what it stands on", name, file)
			}
			down, up := s.count()
			slices.Sort(up)
			all := down + len(up)
			t.Logf("%d calls run down and %d up, which is %d%%:\n%s", down, len(up), len(up)*100/max(all, 1), strings.Join(up, "\n"))
			if down < 100 {
				t.Errorf("only %d calls between files were found", down)
			}
			if len(up)*100 >= all*maxUpwardInside {
				t.Errorf("%d of %d calls between the files of %s run up; less than %d%% may. A part uses what is below it and tells the one above by what it returns (go test -v lists them)", len(up), all, name, maxUpwardInside)
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
		_, list, _ := strings.Cut(line, ":")
		for _, name := range strings.Fields(list) {
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
