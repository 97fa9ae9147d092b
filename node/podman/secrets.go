package podman

import (
	"strconv"
	"strings"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

// secret is a file of a secret in a container, as Podman takes it.
type secret struct {
	Source string
	Target string
	UID    uint32
	GID    uint32
	Mode   uint32
}

// secrets are the secrets of a container, as Podman takes them: by their names in its store, and never by value.
type secrets struct {
	Files     []secret          `json:"secrets,omitempty"`
	Variables map[string]string `json:"secret_env,omitempty"`
}

func secretsOf(plan node.Plan) secrets {
	var all secrets
	user, group := owner(plan.Order.Spec.User)
	for _, s := range plan.Order.Spec.Secrets {
		name := plan.SecretName(s.Name)
		if s.Env == "" {
			mode, _ := strconv.ParseUint(s.Mode, 8, 32) // the spec's rules hold it to octal digits
			all.Files = append(all.Files, secret{Source: name, Target: s.Path, UID: user, GID: group, Mode: uint32(mode)})
			continue
		}
		if all.Variables == nil {
			all.Variables = map[string]string{}
		}
		all.Variables[s.Env] = name
	}
	return all
}

// owner returns the user and group that are given as numbers; those of root where they are not.
func owner(user string) (uid, gid uint32) {
	name, group, _ := strings.Cut(user, ":")
	return number(name), number(group)
}

func number(text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// secretMissing is the failure of a container for want of a secret, or nil where it was refused for something else.
func secretMissing(plan node.Plan, refused *refusal) error {
	if !refused.says("no such secret") {
		return nil
	}
	for _, s := range plan.Order.Spec.Secrets {
		if name := plan.SecretName(s.Name); refused.says(strconv.Quote(name)) {
			return &node.Failure{
				Reason:  events.OfflineSecretMissing,
				Message: "this node has no secret " + name + ": create it there with \"podman secret create " + name + " FILE\"",
			}
		}
	}
	return nil
}
