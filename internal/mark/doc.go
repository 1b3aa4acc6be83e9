// Package mark holds the marks that retry.Terminal, retry.After and retry.AfterTime
// put on errors. A mark has the text of the error that it marks and wraps it.
//
// Package retry makes and reads them. The codec of history writes a mark and the
// error below it apart, which is why the types are here and not private to retry.
package mark
