package layout

import "testing"

// maxShare is the share of the product's code that one package may have, in percent.
const maxShare = 25

// TestNoPackageIsAQuarterOfTheHouse counts lines of Go that are not tests.
func TestNoPackageIsAQuarterOfTheHouse(t *testing.T) {
	h := load(t)
	all, most, largest := 0, 0, ""
	for _, name := range h.names() {
		lines := 0
		for _, s := range sources(t, h, name) {
			lines += s.line(s.file.FileEnd)
		}
		if all += lines; lines > most {
			most, largest = lines, name
		}
	}
	t.Logf("%s has %d of %d lines", largest, most, all)
	if most*100 >= all*maxShare {
		t.Errorf("%s has %d of %d lines; less than %d%% may be in one package. Find the room inside of it that has a reason of its own to change.", largest, most, all, maxShare)
	}
}
