package perdure

import (
	"strings"
	"testing"
)

// TestANameWithoutItsStoreNamesTheImport: this test program links no driver.
func TestANameWithoutItsStoreNamesTheImport(t *testing.T) {
	for name, want := range map[string]string{
		" ":                         "the name of the database is empty",
		"":                          "the name of the database is empty",
		"host=db password=secret":   `import _ "github.com/perdure/perdure/store/postgres"`,
		"postgres://me:secret@db/x": `import _ "github.com/perdure/perdure/store/postgres"`,
		"mysql://me:secret@db/shop": "Use sqlite:FILE or postgres://USER@HOST/DATABASE",
	} {
		_, err := OpenURL(t.Context(), name)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v; want %s", name, err, want)
		}
	}
}
