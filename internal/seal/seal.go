package seal

// Definition is embedded by workflow.Workflow and activity.Activity.
type Definition struct{}

func (Definition) sealed() {}

// Sealed is implemented by what embeds Definition.
type Sealed interface{ sealed() }
