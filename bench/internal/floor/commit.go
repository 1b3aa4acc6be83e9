package floor

import (
	"context"
	"time"
)

// largest is how many rows a transaction has at most.
const largest = 512

// pending is a row that somebody waits for.
type pending struct {
	row   Row
	ready chan<- error
}

// record returns when the row is durable.
func (s *session) record(ready chan error, row Row) error {
	row.At = time.Now().UnixNano()
	s.rows <- pending{row, ready}
	return <-ready
}

// commit is the committer: it takes what is there and makes it durable.
func (s *session) commit() {
	defer close(s.ended)
	group := make([]pending, 0, largest)
	rows := make([]Row, 0, largest)
	for first := range s.rows {
		group, rows = append(group[:0], first), append(rows[:0], first.row)
	gather:
		for len(group) < largest {
			select {
			case p, ok := <-s.rows:
				if !ok {
					break gather
				}
				group, rows = append(group, p), append(rows, p.row)
			default:
				break gather
			}
		}
		// A commit is never cut short: its callers wait for the truth.
		err := s.table.Insert(context.Background(), rows)
		s.commits.Add(1)
		for _, p := range group {
			p.ready <- err
		}
	}
}
