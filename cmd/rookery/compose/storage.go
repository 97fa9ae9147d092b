package compose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/rookery-project/rookery/events"
)

// storage maps the mounts.
func (o *one) storage() {
	for i, v := range o.Volumes {
		key := fmt.Sprintf("volumes[%d]", i)
		made := events.Volume{Path: v.Target, ReadOnly: v.ReadOnly}
		switch v.Type {
		case types.VolumeTypeVolume:
			made.Name = label(v.Source)
			if v.Source == "" {
				made.Name = label(v.Target)
			}
			if o.instances() != 1 {
				o.warn(key, v.Source, "each slot of the service has its own volume: slots do not share one")
			}
		case types.VolumeTypeTmpfs:
			made.Name, made.Kind = label(v.Target), events.VolumeTmpfs
			if v.Tmpfs != nil {
				made.Size = events.Size(max(0, v.Tmpfs.Size))
			}
		case types.VolumeTypeBind:
			if written := o.written(i); isRelative(written) {
				o.refuse(key+".source", written, "it is a path of this machine, but instances run on nodes: give a file as one of "+
					"configs, with file: %s, or name an "+
					"absolute path that every node has", written)
				continue
			}
			o.warn(key+".source", v.Source, "every node must have this path, and allow it: rookery node --allow-host-path")
			made.Name, made.Kind, made.Source = label(v.Target), events.VolumeHost, v.Source
		default:
			o.refuse(key+".type", v.Type, "want volume, bind or tmpfs")
			continue
		}
		o.is.Volumes = append(o.is.Volumes, made)
	}
	for i, text := range o.Tmpfs {
		o.tmpfs(fmt.Sprintf("tmpfs[%d]", i), text)
	}
}

// written returns the source of a volume as written in the file.
func (o *one) written(i int) string {
	service, _ := o.model["services"].(map[string]any)[o.Name].(map[string]any)
	volumes, _ := service["volumes"].([]any)
	if i >= len(volumes) {
		return ""
	}
	v, _ := volumes[i].(map[string]any)
	source, _ := v["source"].(string)
	return source
}

// tmpfs parses an entry of tmpfs, as in /run:size=64m.
func (o *one) tmpfs(key, text string) {
	target, options, _ := strings.Cut(text, ":")
	made := events.Volume{Name: label(target), Path: target, Kind: events.VolumeTmpfs}
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		var size types.UnitBytes
		if name == "size" && size.DecodeMapstructure(value) == nil {
			made.Size = events.Size(size)
		} else if option != "" {
			o.refuse(key, option, "a tmpfs has a size alone: remove the other option")
		}
	}
	o.is.Volumes = append(o.is.Volumes, made)
}

// shared refuses volumes that several services mount.
func (m *mapper) shared() {
	users := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(m.made.Services)) {
		for i, v := range m.project.Services[name].Volumes {
			if v.Type != types.VolumeTypeVolume || v.Source == "" {
				continue
			}
			if other := users[v.Source]; other != "" && other != name {
				m.refuse(name, fmt.Sprintf("services.%s.volumes[%d].source", name, i), v.Source, "%s has a volume of this name, and each slot of a service has its own: "+
					"give it another name, or mount a path that every node has as type bind", other)
				continue
			}
			users[v.Source] = name
		}
	}
}
