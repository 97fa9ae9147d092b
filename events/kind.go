package events

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the type of a message: io.rookery.<thing>.v<version>.<name>.
type Kind struct {
	Thing   string
	Version int
	Name    string
}

const kindPrefix = "io.rookery."

// String returns the CloudEvents type, as in "io.rookery.instance.v1.placed".
func (k Kind) String() string {
	return kindPrefix + k.Thing + ".v" + strconv.Itoa(k.Version) + "." + k.Name
}

// Schema is the id of the kind's JSON Schema: what CloudEvents calls its dataschema.
func (k Kind) Schema() string { return "urn:rookery:" + k.String() }

// Word returns "<thing>.<name>", as in "instance.placed": the short name of the kind.
func (k Kind) Word() string { return k.Thing + "." + k.Name }

// SchemaPath is where the JSON Schema of the kind stands below the folder schemas.
func (k Kind) SchemaPath() string { return fmt.Sprintf("%s/v%d/%s.json", k.Thing, k.Version, k.Name) }

// ParseKind reads a CloudEvents type. It reports false for a type that is not Rookery's.
func ParseKind(s string) (Kind, bool) {
	rest, ok := strings.CutPrefix(s, kindPrefix)
	if !ok {
		return Kind{}, false
	}
	parts := strings.SplitN(rest, ".", 3)
	if len(parts) != 3 || !strings.HasPrefix(parts[1], "v") || parts[0] == "" || parts[2] == "" {
		return Kind{}, false
	}
	version, err := strconv.Atoi(parts[1][1:])
	if err != nil || version < 1 {
		return Kind{}, false
	}
	k := Kind{Thing: parts[0], Version: version, Name: parts[2]}
	return k, k.String() == s // "v01" and "v+1" are not other spellings of "v1"
}

// Data is the body of one kind of message. Only types of this package implement it.
type Data interface {
	Kind() Kind
}

// v1 names a kind in its first version.
func v1(thing, name string) Kind { return Kind{Thing: thing, Version: 1, Name: name} }
