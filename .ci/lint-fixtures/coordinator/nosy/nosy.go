// Package nosy looks at the root of the other side.
package nosy

import "github.com/rookery-project/rookery/node" // want: depguard "meet only in events"

// Uses keeps the import alive.
var Uses = node.Uses
