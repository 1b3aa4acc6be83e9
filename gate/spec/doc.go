// Package spec declares gates as plain data: what a gate is ([Spec]), what people change
// about it ([Edit]) and how it stands ([Stats]). Package gate, which explains gates, and
// package view export these types under their own names, so programs rarely import this
// package.
//
// There is one type for each, from the JSON of an API to the step that grants a slot.
package spec
