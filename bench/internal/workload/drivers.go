package workload

// Drivers is W1 of the floor on SQLite with one driver after the other.
type Drivers struct{ Throughput }

// About explains the table.
func (Drivers) About() About {
	return About{"drivers", "SQLite drivers", "The floor's W1 with each driver for SQLite: the same statements, prepared once, through the lowest interface that a driver offers."}
}
