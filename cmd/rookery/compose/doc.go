// Package compose reads Compose files as what Rookery's services are to be.
//
// It owns which keys of the Compose specification are carried and which are refused, and what each becomes in a spec. It must
// never know the bus, a plan, or who asks. Reading (read.go) touches files and the environment; all else is functions of values:
//
//	source, err := compose.Read(ctx, files, "")   // the files as one project, each key where it stands
//	project := source.Project()                   // its services, and all that is refused or otherwise than Compose has it
package compose
