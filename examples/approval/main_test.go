package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/internal/kill"
	"github.com/perdure/perdure/perduretest"
)

func TestMain(m *testing.M) { kill.Main(m, main) }

// lettersIn counts letters by subject.
func lettersIn(t *testing.T, dir string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "Subject: ")
		subject, _, _ := strings.Cut(rest, "\n")
		found[subject]++
	}
	return found
}

// await returns when the letter is there; a wait in vain lasts until
// the test ends.
func await(t *testing.T, dir, subject string) {
	t.Helper()
	for lettersIn(t, dir)[subject] == 0 {
		if t.Context().Err() != nil {
			t.FailNow()
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// The process dies while it waits, and the boss decides while it is dead.
func TestADecisionSurvivesKills(t *testing.T) {
	dir := t.TempDir()
	letters := filepath.Join(dir, "outbox")
	approval := func(args ...string) *kill.Process {
		return kill.Start(t, append([]string{"-db", filepath.Join(dir, "approval.db"), "-outbox", letters, "-remind", "300ms", "-deadline", "1h"}, args...)...)
	}
	first := approval("ask", "trip-1", "a trip to Lisbon")
	await(t, letters, "Please decide")
	first.Kill()
	second := approval("ask", "trip-1", "a trip to Lisbon")
	await(t, letters, "Reminder 1")
	if said := approval("state", "trip-1").Output(t); !strings.HasPrefix(said, "waiting for the boss, reminded ") {
		t.Errorf("the state is %q", said)
	}
	second.Kill()
	approval("decide", "trip-1", "yes").Output(t)
	if said := approval("ask", "trip-1", "a trip to Lisbon").Output(t); said != "trip-1: approved: true the boss\n" {
		t.Errorf("it says %q", said)
	}
	if said := approval("state", "trip-1").Output(t); said != "approved: true\n" {
		t.Errorf("in the end the state is %q", said)
	}
	for subject, n := range lettersIn(t, letters) {
		if n != 1 {
			t.Errorf("%d letters %q, want one", n, subject)
		}
	}
	if n := lettersIn(t, letters)["Decided"]; n != 1 {
		t.Errorf("%d letters say how it was decided", n)
	}
}

// No decision comes. A week passes in virtual time.
func TestTheDeadline(t *testing.T) {
	dir := t.TempDir()
	perduretest.Test(t, func(t *testing.T, env *perduretest.Env) {
		env.Register(Approval, Mail.Impl(outbox(dir).mail))
		d, err := perduretest.Run(env, Approval, "trip-2", Request{"you", "the boss", "a trip to Lisbon", 48 * time.Hour, 7 * 24 * time.Hour})
		if d.Approved || d.Why == "" || err != nil {
			t.Errorf("got %+v, %v", d, err)
		}
	})
	got := lettersIn(t, dir)
	if got["Please decide"] != 1 || got["Reminder 3"] != 1 || got["Reminder 4"] != 0 || got["Not decided"] != 1 {
		t.Errorf("the letters are %v", got)
	}
}
