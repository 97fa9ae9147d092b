package events

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxName is the greatest length of a name in a subject, in bytes: that of a DNS label.
const MaxName = 63

// ValidName reports whether s is a DNS label: a-z, 0-9 and "-", not first or last, at most MaxName bytes. Such a
// name is safe as one token of a subject, in a container's name and in a label.
func ValidName(s string) bool {
	if s == "" || len(s) > MaxName || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// checkName returns a Rejection that names field unless s is a valid name.
func checkName(field, s string) error {
	if ValidName(s) {
		return nil
	}
	return Reject(CodeInvalidName, field,
		"%s %s is not a name: use 1 to %d of a-z, 0-9 and \"-\", with no \"-\" at either end", field, quote(s), MaxName)
}

// quote shows text from outside in a message: control characters escaped, cut to a readable length.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}

// ServiceID names a service: a namespace and a name in it. It prints as "namespace/name".
type ServiceID struct {
	Namespace string
	Name      string
}

// MarshalText makes the id a key in JSON.
func (s ServiceID) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote. It takes the name of no service, too.
func (s *ServiceID) UnmarshalText(text []byte) error {
	if string(text) == "/" {
		*s = ServiceID{}
		return nil
	}
	id, err := ParseServiceID(string(text))
	if err == nil {
		*s = id
	}
	return err
}

// String returns "namespace/name".
func (s ServiceID) String() string { return s.Namespace + "/" + s.Name }

// Compare orders services by namespace, then by name.
func (s ServiceID) Compare(o ServiceID) int {
	if c := strings.Compare(s.Namespace, o.Namespace); c != 0 {
		return c
	}
	return strings.Compare(s.Name, o.Name)
}

// ParseServiceID reads "namespace/name". It returns a *Rejection for anything else.
func ParseServiceID(s string) (ServiceID, error) {
	namespace, name, ok := strings.Cut(s, "/")
	if !ok {
		return ServiceID{}, Reject(CodeInvalidName, "service", "service %s has no namespace: write namespace/name, as in demo/web", quote(s))
	}
	id := ServiceID{Namespace: namespace, Name: name}
	return id, id.check()
}

func (s ServiceID) check() error {
	if err := checkName("namespace", s.Namespace); err != nil {
		return err
	}
	return checkName("name", s.Name)
}

// InstanceID names one incarnation of a slot: it is placed on one node and never moves. Generations of a slot climb
// and are never used twice.
type InstanceID struct {
	Service    ServiceID
	Ordinal    uint32
	Generation uint32
}

// String returns "namespace/name.ordinal.generation".
func (i InstanceID) String() string {
	return fmt.Sprintf("%s.%d.%d", i.Service, i.Ordinal, i.Generation)
}

// MarshalText makes the id a key in JSON.
func (i InstanceID) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (i *InstanceID) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ".")
	const service, ordinal, generation, count = 0, 1, 2, 3
	if len(parts) != count {
		return Reject(CodeInvalidName, "", "%s is not an instance: write namespace/name.ordinal.generation", quote(string(text)))
	}
	var id InstanceID
	o, wrongOrdinal := strconv.ParseUint(parts[ordinal], 10, 32)
	g, wrongGeneration := strconv.ParseUint(parts[generation], 10, 32)
	if err := errors.Join(id.Service.UnmarshalText([]byte(parts[service])), wrongOrdinal, wrongGeneration); err != nil {
		return Reject(CodeInvalidName, "", "%s is not an instance: %v", quote(string(text)), err)
	}
	id.Ordinal, id.Generation = uint32(o), uint32(g)
	*i = id
	return nil
}

// Compare orders instances by service, ordinal and generation.
func (i InstanceID) Compare(o InstanceID) int {
	if c := i.Service.Compare(o.Service); c != 0 {
		return c
	}
	if i.Ordinal != o.Ordinal {
		return sign(i.Ordinal, o.Ordinal)
	}
	return sign(i.Generation, o.Generation)
}

func sign(a, b uint32) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
