// Package code is what an engine sees of the code of a workflow: its declaration, and the
// instance that it makes for each run.
//
// workflow.Workflow embeds a [Definition], whose method is not exported. So users see a
// declaration that has a name and can be given code, and only this module reaches the rest.
package code
