package suspicion

import (
	"testing"

	"github.com/perdure/perdure/store"
)

// TestE87_Suspicion: two owners in a row that died soon are suspicious.
func TestE87_Suspicion(t *testing.T) {
	long := int64(tenure) + 1
	for _, c := range []struct {
		name   string
		owners []store.Ownership
		want   bool
	}{
		{"the first", []store.Ownership{{Epoch: 1}}, false},
		{"one died", []store.Ownership{{Epoch: 2}, {Epoch: 3, Since: 1}}, false},
		{"two died", []store.Ownership{{Epoch: 1}, {Epoch: 2, Since: 1}, {Epoch: 3, Since: 2}}, true},
		{"one survived", []store.Ownership{{Epoch: 1}, {Epoch: 2, Since: 1, Survived: true}, {Epoch: 3, Since: 2}}, false},
		{"the one before survived", []store.Ownership{{Epoch: 1, Survived: true}, {Epoch: 2, Since: 1}, {Epoch: 3, Since: 2}}, false},
		{"one lived long", []store.Ownership{{Epoch: 1}, {Epoch: 2, Since: 1}, {Epoch: 3, Since: 1 + long}}, false},
		{"lost again", []store.Ownership{{Epoch: 1}, {Epoch: 2, Since: 1}, {Epoch: 3, Since: 2}, {Epoch: 4, Since: 3}}, true},
	} {
		if got := suspected(c.owners, 3); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
