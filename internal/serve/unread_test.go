package serve

import "testing"

// TestE140_WhoIsAskedMayTellOfNews: whether an activity is paused is asked while nothing of
// the server is locked. The engine tells it of news under the lock that it asks for, so one
// would wait for the other, and the node would stand still.
func TestE140_WhoIsAskedMayTellOfNews(t *testing.T) {
	s := &Server{unread: map[string]unreadable{}}
	s.config.Activities = []string{"work", "rest"}
	s.config.Paused = func(name string) bool {
		if !s.mu.TryLock() {
			t.Fatalf("the server is locked while it asks whether %s is paused", name)
		}
		defer s.mu.Unlock()
		return name == "rest"
	}
	if names, doubtful := s.claimable(); len(names) != 1 || names[0] != "work" || len(doubtful) != 0 {
		t.Errorf("it claims %q and tries %q", names, doubtful)
	}
}
