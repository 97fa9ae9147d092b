// Package plan is pure because it lies below a pure package.
package plan

import "os" // want: depguard "operating system"

// Name gives importers something to use.
const Name = "plan" + string(os.PathSeparator)
