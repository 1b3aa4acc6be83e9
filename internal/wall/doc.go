// Package wall converts between moments and what clocks on a wall show.
//
// A time on the wall is what a clock there shows, as the seconds since 1970 of the moment at
// which a clock in UTC shows the same.
package wall
