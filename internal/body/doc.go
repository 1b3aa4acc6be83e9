// Package body defines what an engine sees of an activity: its declaration with its
// options, and the link from a running body to the engine.
//
// activity.Activity embeds a [Definition], whose method is not exported. Users therefore
// see a declaration that has a name and can be given a body, and only this module reaches
// the rest.
package body
