package podman

import (
	"maps"
	"strconv"

	"github.com/rookery-project/rookery/node"
)

// program is what a container runs.
type program struct {
	image   string
	command []string
	args    []string
	env     map[string]string // beside those of the service
}

// programOf returns what the planned container runs, by its role.
func programOf(plan node.Plan) program {
	spec := plan.Order.Spec
	if plan.Role != node.RoleInit || spec.Init == nil {
		return program{image: spec.Image, command: spec.Command, args: spec.Args}
	}
	p := program{image: spec.Init.Image, command: spec.Init.Command, args: spec.Init.Args, env: spec.Init.Env}
	if p.image == "" {
		p.image = spec.Image
	}
	return p
}

// environment returns the spec's variables, those of the program and those that say who the instance is.
func environment(plan node.Plan, more map[string]string) map[string]string {
	env := make(map[string]string, len(plan.Order.Spec.Env)+len(more)+4)
	maps.Copy(env, plan.Order.Spec.Env)
	maps.Copy(env, more)
	env["ROOKERY_NAMESPACE"] = plan.Instance.Service.Namespace
	env["ROOKERY_SERVICE"] = plan.Instance.Service.Name
	env["ROOKERY_ORDINAL"] = strconv.FormatUint(uint64(plan.Instance.Ordinal), 10)
	env["ROOKERY_GENERATION"] = strconv.FormatUint(uint64(plan.Instance.Generation), 10)
	return env
}
