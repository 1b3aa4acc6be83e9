// Package seal marks the definitions that an engine can run. Only types of this module
// embed [Definition], so an interface that embeds [Sealed] has no other implementations.
package seal

// Definition is embedded by workflow.Workflow and activity.Activity.
type Definition struct{}

func (Definition) sealed() {}

// Sealed is implemented by what embeds Definition.
type Sealed interface{ sealed() }
