// Package chart draws the figures of the documents: bars and curves, as SVG of a few kilobytes
// that follows the reader's choice of light or dark.
//
// A picture is made by the command or the test that has the figures, and a test holds the file
// to it. The numbers stand in the picture as text and in the page beside it, so that neither
// needs the other.
package chart
