package flow_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/flow"
	"github.com/perdure/perdure/perduretest"
)

// TestW4_AppendsAreNotRepeated: an attempt that is made again, after its process died when
// all, a part or nothing of the text was written, adds what is missing.
func TestW4_AppendsAreNotRepeated(t *testing.T) {
	for written, others := range map[string]string{"": "", "thr": "", "three\n": "more\n"} {
		dir := t.TempDir()
		r := runtimeOf(t, flow.Files(dir))
		perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
			env.Register(r.Definitions()...)
			path := filepath.Join(dir, "log", "a.txt")
			if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("one\ntwo\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
			p := program(t, r, "", "@file.write(path=\"log/a.txt\", content=\"three\\n\", append=True) [retry: 1, fixed: 1h]\nreturn @file.read(path=\"log/a.txt\")\n")
			env.Inject(activity.Declare[any, any]("file.write"), perduretest.LoseAnswer(fmt.Errorf("lost")), perduretest.Attempts(1))
			h, err := perduretest.Start(env, flow.Workflow, "run", p)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			if text, err := os.ReadFile(path); string(text) != "one\ntwo\nthree\n" {
				t.Fatalf("%q, %v", text, err)
			}
			if err := os.WriteFile(path, []byte("one\ntwo\n"+written+others), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := h.Result()
			if want := fmt.Sprintf("%q", "one\ntwo\nthree\n"+others); err != nil || string(out) != want {
				t.Errorf("%q: %s, %v, want %s", written, out, err, want)
			}
		})
	}
}

// TestW4_FilesAndDirectories are listed, moved, made and deleted; a move that was done is not
// an error, and errors name the file that the program names.
func TestW4_FilesAndDirectories(t *testing.T) {
	dir := t.TempDir()
	text := `@file.write(path="a/b/c.txt", content="1")
@file.mkdir(path="d/e")
@file.mkdir(path="d/e")
r = [@file.list(), @file.list(path="a/b"), @file.exists(path="a/b/c.txt"), @file.exists(path="none")]
@file.move(path="a/b/c.txt", to="new/d.txt")
r = r + [@file.read(path="new/d.txt")]
@file.delete(path="new/d.txt")
@file.delete(path="new/d.txt")
spread range(20): i -> @file.write(path="many.txt", content="x", append=True)
r = r + [@file.exists(path="new/d.txt"), len(@file.read(path="many.txt")), @file.list()]
try:
    @file.write(path="d/e", content="1")
except FileError as e:
    r = r + [e.message]
try:
    @file.move(path="none", to="more")
except NotExist as e:
    r = r + [e.type]
try:
    @file.list(path="../")
except FileError as e:
    r = r + [e.type]
return r
`
	out, err := really(t, text, nil, flow.Files(dir))
	want := `[["a/","d/"],["c.txt"],true,false,"1",false,20,["a/","d/","many.txt","new/"],"renameat d/e: file exists","NotExist","FileError"]`
	if out != want || err != nil {
		t.Errorf("%s, %v\nwant %s", out, err, want)
	}
}
