package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/rookery-project/rookery/events"
)

// digits is the number of hash digits in the name of a config.
const digits = 10

// configName returns the name of a project's config in the bucket. The name has a hash of the content. New content therefore replaces
// the instances, and instances of an earlier revision still find the old content.
func configName(name string, value []byte) string {
	sum := sha256.Sum256(value)
	clean := label(name)
	return strings.Trim(clean[:min(len(clean), events.MaxName-digits-1)], "-") + "-" + hex.EncodeToString(sum[:])[:digits]
}

// readConfigs finds the names of the project's configs, and the configs that the bucket must hold.
func (m *mapper) readConfigs() {
	for _, name := range slices.Sorted(maps.Keys(m.project.Configs)) {
		c, key := m.project.Configs[name], "configs."+name
		if c.External {
			m.configs[name] = externalName(name, c.Name)
			if !events.ValidName(m.configs[name]) {
				m.refuse("", key+".name", m.configs[name], "the bucket has names of a-z, 0-9 and \"-\" only: store the config under such a name")
			}
			continue
		}
		if c.Name != "" {
			m.refuse("", key+".name", c.Name, "the name of a config in the bucket is its key here and a hash of its content: remove this key")
		}
		value, err := readConfig(c, m.project.Environment)
		if err != nil || len(value) == 0 {
			m.refuse("", key, nil, "the config is empty or unreadable (%v): check file, content or environment", err)
			continue
		}
		m.configs[name] = configName(name, value)
		m.made.Configs[events.ConfigKey(m.project.Name, m.configs[name])] = value
	}
}

func externalName(key, name string) string {
	if name != "" {
		return name
	}
	return key
}

// files maps the configs and secrets of the service.
func (o *one) files() {
	for i, c := range o.Configs {
		name, known := o.configs[c.Source]
		if !known {
			continue // readConfigs has refused it at its definition
		}
		target := c.Target
		if target == "" {
			target = "/" + c.Source
		}
		o.is.Configs = append(o.is.Configs, events.Config{Name: name, Path: path.Join("/", target), Mode: o.mode(fmt.Sprintf("configs[%d].mode", i), c.Mode)})
	}
	for i, s := range o.Secrets {
		target := s.Target
		if target == "" {
			target = s.Source
		}
		if !path.IsAbs(target) {
			target = path.Join(events.DefaultSecretFolder, target)
		}
		o.is.Secrets = append(o.is.Secrets, events.Secret{Name: o.secret(s.Source), Path: target, Mode: o.mode(fmt.Sprintf("secrets[%d].mode", i), s.Mode)})
	}
}

// mode returns the permissions of a file in octal.
func (o *one) mode(key string, mode *types.FileMode) string {
	switch {
	case mode == nil:
		return ""
	case *mode < 0 || *mode > 0o777:
		o.refuse(key, fmt.Sprintf("%#o", *mode), "the mode can have read, write and execute bits only: write it as in 0400")
		return ""
	}
	return fmt.Sprintf("%04o", int64(*mode))
}

// secret returns the name of a secret. It refuses a secret that the file does not declare as stored in the nodes' Podman.
func (o *one) secret(source string) string {
	s := o.project.Secrets[source]
	name := label(source)
	if s.External {
		name = label(externalName(source, s.Name))
		if name != externalName(source, s.Name) {
			o.mapper.refuse(o.Name, "secrets."+source, nil, "secrets have names of a-z, 0-9 and \"-\": create it as %s.%s", o.project.Name, name)
		}
		return name
	}
	create := "podman secret create " + o.project.Name + "." + name + " "
	switch {
	case s.Environment != "":
		create = "printf %s \"$" + s.Environment + "\" | " + create + "-"
	default:
		create += s.File
	}
	key := "secrets." + source
	known := func(i Issue) bool { return i.Key == key }
	if !slices.ContainsFunc(o.made.Refused, known) {
		o.mapper.refuse("", key, nil, "secrets never go over the bus: on every node, run %s; then write external: true and name: %s", create, name)
	}
	return name
}
