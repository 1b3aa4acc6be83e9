package pgbubble

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/extent"
	"github.com/perdure/perdure/store"
	"github.com/perdure/perdure/store/storetest"
)

// TestConformance holds a Database against the contract, in real time.
func TestConformance(t *testing.T) {
	extent.OnlyAtNight(t, "store/postgres plays the suite on a server, and the engine's tests play in bubbles")
	storetest.Run(t, func(t *testing.T) store.Opener {
		db := Borrow(t, 3).Empty(now)
		t.Cleanup(func() { db.Close() })
		return db
	})
}

func now() int64 { return time.Now().UnixNano() }

// open opens a database, both closed with the test.
func open(t *testing.T, db *Database) store.Store {
	t.Helper()
	s, err := db.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		db.Close()
	})
	return s
}

// run is a run of a workflow ID.
func run(id string) store.Run {
	return store.Run{ID: id, WorkflowID: id, Chain: id, Attempt: 1, Type: "t", RunState: store.RunState{Status: store.Running}}
}

// TestTimeIsThatOfTheBubble: a year passes in no time, also for the database.
func TestTimeIsThatOfTheBubble(t *testing.T) {
	home := Borrow(t, 1)
	synctest.Test(t, func(t *testing.T) {
		s := open(t, home.Empty(now))
		for range 3 {
			answer, err := s.Commit(t.Context(), nil)
			if want := now(); answer.Now != want || err != nil {
				t.Errorf("the database's clock says %d, that of the bubble %d; %v", answer.Now, want, err)
			}
			time.Sleep(365 * 24 * time.Hour)
		}
		if err := s.Create(t.Context(), run("r")); err != nil {
			t.Fatal(err)
		}
		inbox, err := s.Inbox(t.Context(), []int{0}, store.InboxRead{})
		if err != nil || len(inbox) != 1 || inbox[0].Posted != now() {
			t.Errorf("the inbox has %+v, %v", inbox, err)
		}
	})
}

// TestNothingIsLeftByOthers: a database is empty, whatever the one before it on
// the same schema held.
func TestNothingIsLeftByOthers(t *testing.T) {
	home := Borrow(t, 2)
	for range 3 {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, home.Empty(now))
			if runs, err := s.List(t.Context(), store.Filter{}); len(runs) > 0 || err != nil {
				t.Fatalf("there are %+v, %v", runs, err)
			}
			if nodes, err := s.Nodes(t.Context()); len(nodes) > 0 || err != nil {
				t.Fatalf("there are %+v, %v", nodes, err)
			}
			for i, name := range []string{"", "mine"} {
				if g, err := s.Group(t.Context(), name); g.First != 2*i || err != nil {
					t.Fatalf("group %q: %+v, %v", name, g, err)
				}
			}
			if err := s.Join(t.Context(), store.Node{ID: "n", Name: "n", Lease: time.Hour}); err != nil {
				t.Fatal(err)
			}
			if owned, err := s.Claim(t.Context(), "n", []int{0, 1, 2, 3}); len(owned) != 4 || owned[0].Epoch != 1 || err != nil {
				t.Fatalf("claimed are %+v, %v", owned, err)
			}
			if err := s.Create(t.Context(), run("r")); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestListeningCostsNoTime: a listener hears at once what others do, and does not
// keep months from passing.
func TestListeningCostsNoTime(t *testing.T) {
	home := Borrow(t, 1)
	synctest.Test(t, func(t *testing.T) {
		db := home.Empty(now)
		ear, mouth := open(t, db), open(t, db)
		var heard store.News
		go ear.Listen(t.Context(), func(news store.News) { heard |= news })
		for _, act := range []struct {
			do   func() error
			want store.News
		}{
			{func() error { return nil }, store.AllNews},
			{func() error { return mouth.Join(t.Context(), store.Node{ID: "n", Name: "n", Lease: time.Hour}) }, store.NewsNodes},
			{func() error { return mouth.Create(t.Context(), run("r")) }, store.NewsMessage},
			{func() error { _, err := mouth.Commit(t.Context(), nil); return err }, 0},
		} {
			began := time.Now()
			if err := act.do(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if heard != act.want || time.Since(began) > 0 {
				t.Errorf("heard is %b after %s, want %b at once", heard, time.Since(began), act.want)
			}
			heard = 0
			time.Sleep(30 * 24 * time.Hour)
		}
	})
}

// BenchmarkScenario is what a scenario costs before it does anything.
func BenchmarkScenario(b *testing.B) {
	home := Borrow(b, 1)
	for b.Loop() {
		db := home.Empty(now)
		s, err := db.Open(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
		db.Close()
	}
}
