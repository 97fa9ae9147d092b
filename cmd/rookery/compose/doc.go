// Package compose turns Compose files into the specs of Rookery's services.
//
// It decides which keys of the Compose specification Rookery supports, and maps each of them to a spec. It must not depend on the bus
// or on a plan. Only reading (read.go) uses files and the environment; everything else is a pure function:
//
//	source, err := compose.Read(ctx, files, "")   // the files as one project, with the place of each key
//	project := source.Project()                   // its services, refused keys, and keys that work differently than in Compose
package compose
