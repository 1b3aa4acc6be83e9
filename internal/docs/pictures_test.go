package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	inlinePicture = regexp.MustCompile(`!\[([^\]]*)\]\(([^)\s]+)\)`)
	schemePicture = regexp.MustCompile(`<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img alt="([^"]*)" src="([^"]+)">\s*</picture>`)
)

// TestPicturesSayWhatTheyShow: each picture of a page is there, is small, says in words what it
// shows, and has a form for dark pages: a drawing by its style, a screenshot by a
// second file. Each picture is on a page.
func TestPicturesSayWhatTheyShow(t *testing.T) {
	shown := map[string]bool{}
	for page, text := range texts(t, "ARCHITECTURE.md") {
		show := func(alt string, files ...string) {
			if len(strings.Fields(alt)) < 10 {
				t.Errorf("%s: %v is described by %q only", filepath.Base(page), files, alt)
			}
			for _, file := range files {
				data, err := os.ReadFile(filepath.Join(filepath.Dir(page), file))
				if err != nil {
					t.Error(err)
				} else if len(data) > 200<<10 {
					t.Errorf("%s has %d bytes", file, len(data))
				}
				if len(files) == 1 && !strings.Contains(string(data), "prefers-color-scheme:dark") {
					t.Errorf("%s has no form for dark pages", file)
				}
				shown[filepath.Base(file)] = true
			}
		}
		for _, m := range inlinePicture.FindAllStringSubmatch(text, -1) {
			show(m[1], m[2])
		}
		for _, m := range schemePicture.FindAllStringSubmatch(text, -1) {
			show(m[2], m[1], m[3])
		}
		if n := strings.Count(text, "<img"); n != len(schemePicture.FindAllString(text, -1)) {
			t.Errorf("%s has a picture of another form", filepath.Base(page))
		}
	}
	files, err := filepath.Glob(filepath.Join(Root(), "docs", "pictures", "*g"))
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if !shown[filepath.Base(file)] {
			t.Errorf("docs/pictures/%s is on no page", filepath.Base(file))
		}
	}
}
