package perduretest

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLeftoverFindsWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if left := leftover(); left != "" {
			t.Errorf("found in an empty bubble:\n%s", left)
		}
		release := make(chan struct{})
		defer close(release)
		go waitForEver(release)
		go time.Sleep(time.Minute)
		left := leftover()
		if n := strings.Count(left, "goroutine "); !strings.Contains(left, "waitForEver") || strings.Contains(left, "Sleep") {
			t.Errorf("found %d goroutines, want the one that waits for ever:\n%s", n, left)
		}
	})
}

func waitForEver(release chan struct{}) { <-release }

func TestLeftoverLooksAtItsOwnBubbleOnly(t *testing.T) {
	began, over := make(chan struct{}), make(chan struct{})
	release := make(chan struct{})
	go func() {
		defer close(over)
		synctest.Test(t, func(t *testing.T) {
			inside := make(chan struct{})
			go func() { <-inside }()
			synctest.Wait()
			close(began)
			<-release
			close(inside)
		})
	}()
	<-began
	synctest.Test(t, func(t *testing.T) {
		if left := leftover(); left != "" {
			t.Errorf("found goroutines of another bubble:\n%s", left)
		}
	})
	close(release)
	<-over
}

func TestTheCommandRunsOneTestAgain(t *testing.T) {
	want := "go test -count=1 -run '^TestX$/^a\\.b$/^write=7$' github.com/perdure/perdure/perduretest"
	if got := again("TestX/a.b/write=7"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
