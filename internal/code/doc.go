// Package code defines what an engine sees of a workflow's code: its declaration, and the
// instance that it makes for each run.
//
// workflow.Workflow embeds a [Definition], whose method is not exported. Users therefore
// see a declaration that has a name and can be given code, and only this module reaches the
// rest.
package code
