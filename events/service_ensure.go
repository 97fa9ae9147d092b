package events

// ServiceEnsure is the command that a service exists with this spec: it creates the service or gives it a new revision. It does nothing
// where the service already has that spec and scale.
type ServiceEnsure struct {
	Spec
	// Scale is the number of instances. Default: 1 for a new service, and the current scale for a standing one. A global service has no
	// scale, nor has a job.
	Scale *int64 `json:"scale,omitzero" jsonschema:"minimum=0,maximum=10000"`
	Guard
}

// Kind implements Data.
func (ServiceEnsure) Kind() Kind { return v1("service", "ensure") }

// ParseServiceEnsure reads the body of the command as the coordinator does. Its errors are *Rejection.
func ParseServiceEnsure(body []byte) (ServiceEnsure, error) {
	var c ServiceEnsure
	return c, decodeStrict(body, &c)
}

func (c ServiceEnsure) check() error {
	if c.Scale != nil {
		if err := checkScale(*c.Scale); err != nil {
			return err
		}
	}
	if err := c.Busy.check(); err != nil {
		return err
	}
	if c.Scale != nil && c.Global() {
		return Reject(CodeInvalidValue, "scale", "scale is %d, and mode global has one instance on each node: leave it out", *c.Scale)
	}
	if c.Scale != nil && c.IsJob() {
		return Reject(CodeInvalidValue, "scale", "scale is %d, and a job has no scale: say job.completions and job.parallelism", *c.Scale)
	}
	return c.Spec.check()
}

func (c ServiceEnsure) normal() Command {
	c.Spec = c.withDefaults()
	return c
}
