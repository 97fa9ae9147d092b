// Package unformatted is formatted by gofmt, but not by gofumpt.
package unformatted

// Air has an empty line where its body ends.
func Air() bool {
	return true // want-below: gofumpt "properly formatted"

}
