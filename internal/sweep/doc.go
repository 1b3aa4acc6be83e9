// Package sweep deletes closed runs that the retention does not keep any longer, and warns where
// there is no retention and runs pile up. A sweep leaves most of the database's time to others.
// Each engine sweeps its own partitions; perdure gc sweeps all.
package sweep
