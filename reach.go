package perdure

import "github.com/perdure/perdure/internal/engine"

func init() {
	engine.Reach.Option = func(change func(*engine.Config)) any {
		return Option(func(s *settings) { change(&s.Config) })
	}
	engine.Reach.Engine = func(e any) *engine.Engine { return e.(*Engine).inner }
}
