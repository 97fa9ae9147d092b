package events

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
)

// MaxSecrets is the greatest number of a service's secrets.
const MaxSecrets = 64

// Defaults of the file of a secret.
const (
	DefaultSecretFolder = "/run/secrets"
	DefaultSecretMode   = "0444"
)

// SecretSpec says what secrets an instance has. Their values are Podman's to keep, on every node that runs one: no
// message of Rookery ever has one.
type SecretSpec struct {
	// Secrets are given to the instance's containers as they are made.
	Secrets []Secret `json:"secrets,omitempty"`
}

// Secret is a secret of the service's namespace. Podman has it as <namespace>.<name>.
type Secret struct {
	Name string `json:"name" jsonschema:"pattern=^[a-z0-9]([a-z0-9-]*[a-z0-9])?$,maxLength=63"`
	// Path is the file that has it in the container. /run/secrets/<name> where neither it nor env is given. The file is the
	// user's where the spec gives that as a number, and root's otherwise.
	Path string `json:"path,omitempty" jsonschema:"pattern=^(/[^:\\x2c]*)?$"`
	// Mode is who may read the file, in octal digits as in 0400. Default: 0444.
	Mode string `json:"mode,omitempty"`
	// Env is the variable that has it, in place of a file.
	Env string `json:"env,omitempty"`
}

// canonical writes the defaults out.
func (s SecretSpec) canonical() SecretSpec {
	s.Secrets = append([]Secret(nil), s.Secrets...)
	for i := range s.Secrets {
		c := &s.Secrets[i]
		if c.Env != "" {
			continue
		}
		if c.Path == "" {
			c.Path = path.Join(DefaultSecretFolder, c.Name)
		}
		c.Path = path.Clean(c.Path)
		if c.Mode == "" {
			c.Mode = DefaultSecretMode
		}
	}
	return s
}

// octal is how a mode is written: no bits but those of reading, writing and running.
var octal = regexp.MustCompile(`^0[0-7]{3}$`)

func (s SecretSpec) check(env map[string]string) error {
	if len(s.Secrets) > MaxSecrets {
		return Reject(CodeOutOfRange, "secrets", "secrets has %d entries, more than %d", len(s.Secrets), MaxSecrets)
	}
	variables := maps.Clone(env)
	if variables == nil {
		variables = map[string]string{}
	}
	clean := s.canonical().Secrets
	for i, c := range clean {
		field := fmt.Sprintf("secrets[%d]", i)
		if err := checkName(field+".name", c.Name); err != nil {
			return err
		}
		if c.Env != "" {
			if err := c.checkEnv(field, variables); err != nil {
				return err
			}
			variables[c.Env] = ""
			continue
		}
		if err := checkMountPath(field+".path", c.Path); err != nil {
			return err
		}
		if !octal.MatchString(c.Mode) {
			return Reject(CodeInvalidValue, field+".mode", "%s.mode %s is not a file mode: write it in octal digits, as in 0400", field, quote(c.Mode))
		}
		// Podman has one file for each secret of a container, whatever its paths are.
		if j := slices.IndexFunc(clean[:i], func(o Secret) bool { return o.Path == c.Path || (o.Name == c.Name && o.Env == "") }); j >= 0 {
			return Reject(CodeInvalidValue, field, "%s and secrets[%d] have one secret or one path: a secret has one file", field, j)
		}
	}
	return nil
}

// checkEnv refuses a secret as a variable that is there already, or that asks for a file as well.
func (c Secret) checkEnv(field string, env map[string]string) error {
	if c.Path != "" || c.Mode != "" {
		return Reject(CodeInvalidValue, field+".env", "%s is both a variable and a file: leave out env, or path and mode", field)
	}
	if _, there := env[c.Env]; there {
		return Reject(CodeInvalidValue, field+".env", "%s.env %s is set already: give each variable once", field, quote(c.Env))
	}
	return inField(field, checkEnv(map[string]string{c.Env: ""}))
}
