package serve

import "testing"

// TestE140_WhoIsAskedMayTellOfNews: whether an activity is paused or doubted is asked while nothing of
// the server is locked. The engine tells it of news under the lock that it asks for, so one
// would wait for the other, and the node would stand still.
func TestE140_WhoIsAskedMayTellOfNews(t *testing.T) {
	s := &Server{unread: map[string]unreadable{}}
	s.config.Activities = []string{"work", "rest", "kill", "maim"}
	asked := func(name string) {
		if !s.mu.TryLock() {
			t.Fatalf("the server is locked while it asks about %s", name)
		}
		s.mu.Unlock()
	}
	s.config.Paused = func(name string) bool {
		asked(name)
		return name == "rest"
	}
	s.config.Doubted = func(name string) (deaths int, doubted, try bool) {
		asked(name)
		return map[string]int{"kill": 2, "maim": 1}[name], name == "kill" || name == "maim", true
	}
	if names, doubtful := s.claimable(); len(names) != 1 || names[0] != "work" || len(doubtful) != 0 {
		t.Errorf("it claims %q and tries %q", names, doubtful)
	}
	if names := s.tried(); len(names) != 2 || names[0] != "maim" || names[1] != "kill" {
		t.Errorf("one task of %q is tried", names)
	}
}
