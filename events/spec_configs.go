package events

import (
	"fmt"
	"path"
	"slices"
)

// MaxConfigs is the greatest number of a service's configs.
const MaxConfigs = 64

// Defaults of the file of a config.
const (
	DefaultConfigFolder = "/run/configs"
	DefaultConfigMode   = "0444"
)

// ConfigSpec says what configs an instance has. Their values are in a bucket on the bus, where operators put them: no other message of
// Rookery has one.
type ConfigSpec struct {
	// Configs are given to the instance's containers when these are made. A value that an operator puts later reaches only containers that
	// are made later.
	Configs []Config `json:"configs,omitempty"`
}

// Config is a config of the service's namespace. The bucket has it as <namespace>.<name>.
type Config struct {
	Name string `json:"name" jsonschema:"pattern=^[a-z0-9]([a-z0-9-]*[a-z0-9])?$,maxLength=63"`
	// Path is the file that has it in the container. Default: /run/configs/<name>. The file is the user's where the spec gives that as a
	// number, and root's otherwise.
	Path string `json:"path,omitempty" jsonschema:"pattern=^(/[^:\\x2c]*)?$"`
	// Mode is who may read the file, in octal digits as in 0400. Default: 0444.
	Mode string `json:"mode,omitempty"`
}

// ConfigKey is the key under which the bucket has a config of the namespace: no namespace can name those of another.
func ConfigKey(namespace, config string) string { return namespace + "." + config }

// canonical writes the defaults out.
func (s ConfigSpec) canonical() ConfigSpec {
	s.Configs = append([]Config(nil), s.Configs...)
	for i := range s.Configs {
		c := &s.Configs[i]
		if c.Path == "" {
			c.Path = path.Join(DefaultConfigFolder, c.Name)
		}
		c.Path = path.Clean(c.Path)
		if c.Mode == "" {
			c.Mode = DefaultConfigMode
		}
	}
	return s
}

func (s ConfigSpec) check(secrets []Secret, volumes []Volume) error {
	if len(s.Configs) > MaxConfigs {
		return Reject(CodeOutOfRange, "configs", "configs has %d entries, more than %d", len(s.Configs), MaxConfigs)
	}
	taken := mountPaths(secrets, volumes)
	clean := s.canonical().Configs
	for i, c := range clean {
		field := fmt.Sprintf("configs[%d]", i)
		if err := checkName(field+".name", c.Name); err != nil {
			return err
		}
		if err := checkMountPath(field+".path", c.Path); err != nil {
			return err
		}
		if c.Path == "/" {
			return Reject(CodeInvalidValue, field+".path", "%s.path is the container's root: name a file below it", field)
		}
		if !octal.MatchString(c.Mode) {
			return Reject(CodeInvalidValue, field+".mode", "%s.mode %s is not a file mode: write it in octal digits, as in 0400", field, quote(c.Mode))
		}
		if j := slices.IndexFunc(clean[:i], func(o Config) bool { return o.Path == c.Path }); j >= 0 {
			return Reject(CodeInvalidValue, field+".path", "%s and configs[%d] have one path, %s", field, j, quote(c.Path))
		}
		if other := taken[c.Path]; other != "" {
			return Reject(CodeInvalidValue, field+".path", "%s and %s have one path, %s", field, other, quote(c.Path))
		}
	}
	return nil
}

// mountPaths says which fields have something at a path in the container.
func mountPaths(secrets []Secret, volumes []Volume) map[string]string {
	taken := map[string]string{}
	for i, v := range volumes {
		taken[path.Clean(v.Path)] = fmt.Sprintf("volumes[%d]", i)
	}
	for i, s := range (SecretSpec{secrets}).canonical().Secrets {
		if s.Env == "" {
			taken[s.Path] = fmt.Sprintf("secrets[%d]", i)
		}
	}
	return taken
}
