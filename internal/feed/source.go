package feed

import (
	"context"
	"time"

	"github.com/perdure/perdure/internal/clock"
	"github.com/perdure/perdure/internal/logs"
	"github.com/perdure/perdure/internal/outage"
	"github.com/perdure/perdure/store"
)

// Source is where readers read. They end with Context.
type Source struct {
	Context context.Context
	Store   store.Store
	Watch   *outage.Watch // of the database
	Clock   *clock.Clock
}

// Listen hears the notifications of the database.
func (s *Source) Listen(log *logs.Log, hear func(store.News)) {
	for s.Context.Err() == nil {
		if err := s.Store.Listen(s.Context, hear); err != nil && s.Context.Err() == nil {
			log.ListenFailed(err)
		}
		if !clock.Pause(s.Context, time.Second) {
			return
		}
	}
}
