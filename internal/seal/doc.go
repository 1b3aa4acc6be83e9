// Package seal holds what is inside the public types and options and what users do not see.
//
// A public type embeds a [Hidden] value, whose methods are not exported. Users therefore
// neither see nor reach it, and no type of theirs can take its place, while [Of] is an
// ordinary typed call for the packages of this module. A public option is an [Option] in the
// same way: only this module can apply it.
//
// What is hidden is a declaration of an activity or of a workflow with what an engine needs
// to run it, the settings that options make, the address that a handle sends messages to,
// and the engine inside a perdure.Engine.
package seal
