package events

// ServiceScale is the command that a service has this many instances. With fewer, those that do not serve go first, and then those with
// the highest ordinals; the highest at once where ordinals matter to instances: with volumes, a topology or templates.
type ServiceScale struct {
	// Scale is the number of instances, 0 to MaxScale.
	Scale *int64 `json:"scale" jsonschema:"minimum=0,maximum=10000"`
	Guard
}

// Kind implements Data.
func (ServiceScale) Kind() Kind { return v1("service", "scale") }

func (c ServiceScale) check() error {
	if c.Scale == nil {
		return Reject(CodeMissingField, "scale", `scale is missing: say how many instances, as in {"scale":3}`)
	}
	if err := checkScale(*c.Scale); err != nil {
		return err
	}
	return c.Busy.check()
}

func (c ServiceScale) normal() Command { return c }
