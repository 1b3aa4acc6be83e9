package engine

// Reach is how package perduretest gets at what the root package hides from
// users. The root package sets it.
var Reach struct {
	// Option makes an option of perdure.Open that changes the configuration.
	Option func(func(*Config)) any
	// Engine returns what is inside a *perdure.Engine.
	Engine func(any) *Engine
}
