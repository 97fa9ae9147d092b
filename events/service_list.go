package events

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ParseServices reads services of one namespace from one JSON object that has, under the name of each, the body of its
// ensure. Each is read and checked by the coordinator's own rules, as far as they need no state, and comes with its
// defaults written out. The error says all that is wrong, of each service the first field that is.
func ParseServices(namespace string, body []byte) (map[string]ServiceEnsure, error) {
	if first := bytes.TrimSpace(body); len(first) == 0 || first[0] != '{' {
		return nil, Reject(CodeMalformed, "", `not a JSON object: write {"web":{"image":"localhost/web:1"}}, with a service under its name`)
	}
	var bodies map[string]jsontext.Value
	if err := json.Unmarshal(body, &bodies); err != nil {
		return nil, explainSyntax(err)
	}
	services := make(map[string]ServiceEnsure, len(bodies))
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		c, err := parseNamed(ServiceID{Namespace: namespace, Name: name}, bodies[name])
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		services[name] = c
	}
	return services, errors.Join(wrong...)
}

// parseNamed reads the ensure of this service. Its error begins with the path of what is wrong.
func parseNamed(id ServiceID, body []byte) (ServiceEnsure, error) {
	path := printable(id.Name)
	if err := id.check(); err != nil {
		return ServiceEnsure{}, fmt.Errorf("%s: %w", path, err)
	}
	r := ParseRequest(Message{Subject: CommandSubject(id, ServiceEnsure{}.Kind().Name), Body: body})
	if r.Rejection != nil {
		if r.Rejection.Field != "" {
			path += "." + r.Rejection.Field
		}
		return ServiceEnsure{}, fmt.Errorf("%s: %w", path, r.Rejection)
	}
	c, _ := r.Command.(ServiceEnsure)
	if c.Scale == nil {
		return c, nil
	}
	if err := c.CheckScale(uint32(*c.Scale)); err != nil {
		return ServiceEnsure{}, fmt.Errorf("%s.scale: %w", path, err)
	}
	return c, nil
}
