package feed

import "github.com/perdure/perdure/store"

// heldPage is how many held runs one query reads.
const heldPage = 500

// Held hands over the runs of some partitions that are parked or wait for code. It ends early if the
// context does.
func (s *Source) Held(partitions []int, found func(*store.Run)) {
	filter := store.Filter{Partitions: partitions, Status: []store.Status{store.Parked, store.WaitingForCode}, Limit: heldPage}
	for {
		var held []store.Run
		err := s.Watch.Persist(s.Context, "reviewing parked runs", func() (err error) {
			held, err = s.Store.List(s.Context, filter)
			return err
		})
		if err != nil {
			return
		}
		for i := range held {
			found(&held[i])
			filter.Before = held[i].ID
		}
		if len(held) < filter.Limit {
			return
		}
	}
}
