// Command perdure inspects and operates durable workflows, and shows with perdure
// demo what they survive. See perdure --help.
package main
