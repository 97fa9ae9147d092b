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

// digits is how much of its hash the name of a config has.
const digits = 10

// configName is the name under which the bucket has a config of the project: with the hash of what it holds, so that instances
// are made anew when that changes, and those of a revision before find what they had.
func configName(name string, value []byte) string {
	sum := sha256.Sum256(value)
	clean := label(name)
	return strings.Trim(clean[:min(len(clean), events.MaxName-digits-1)], "-") + "-" + hex.EncodeToString(sum[:])[:digits]
}

// readConfigs finds the names of the project's configs and what the bucket is to have.
func (m *mapper) readConfigs() {
	for _, name := range slices.Sorted(maps.Keys(m.project.Configs)) {
		c, key := m.project.Configs[name], "configs."+name
		if c.External {
			m.configs[name] = externalName(name, c.Name)
			if !events.ValidName(m.configs[name]) {
				m.refuse("", key+".name", m.configs[name], "the bucket has configs under names of a-z, 0-9 and \"-\": put it there under another one")
			}
			continue
		}
		if c.Name != "" {
			m.refuse("", key+".name", c.Name, "the bucket has a config under its key here and a hash of what it holds: leave it out")
		}
		value, err := readConfig(c, m.project.Environment)
		if err != nil || len(value) == 0 {
			m.refuse("", key, nil, "it is empty or cannot be read (%v): see file, content or environment", err)
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

// files are the configs and secrets of the service.
func (o *one) files() {
	for i, c := range o.Configs {
		name, known := o.configs[c.Source]
		if !known {
			continue // which is refused where it is defined
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

// mode writes who may read a file.
func (o *one) mode(key string, mode *types.FileMode) string {
	switch {
	case mode == nil:
		return ""
	case *mode < 0 || *mode > 0o777:
		o.refuse(key, fmt.Sprintf("%#o", *mode), "a file has bits of reading, writing and running alone: write it as 0400")
		return ""
	}
	return fmt.Sprintf("%04o", int64(*mode))
}

// secret returns the name of a secret, and refuses one that the node's Podman is not said to have.
func (o *one) secret(source string) string {
	s := o.project.Secrets[source]
	name := label(source)
	if s.External {
		name = label(externalName(source, s.Name))
		if name != externalName(source, s.Name) {
			o.mapper.refuse(o.Name, "secrets."+source, nil, "secrets have names of a-z, 0-9 and \"-\": make it as %s.%s", o.project.Name, name)
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
		o.mapper.refuse("", key, nil, "the bus never has a secret: on every node, type %s, and write external: true, with name: %s", create, name)
	}
	return name
}
