// Command checkout is a saga: it reserves, charges and ships, and undoes what it has
// done when a later step fails for good.
package main
