package compose

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/rookery-project/rookery/events"
)

// defaultCapabilities are a container's capabilities without any in the Compose file.
var defaultCapabilities = []string{
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}

// process maps the command, its user and its permissions.
func (o *one) process() {
	if o.Entrypoint != nil && len(o.Entrypoint) == 0 {
		o.refuse("entrypoint", "[]", "an image keeps its own entry point: name the one to run")
	}
	if o.Command != nil && len(o.Command) == 0 {
		o.refuse("command", "[]", "an image keeps its own command: name the one to run")
	}
	o.is.Command, o.is.Args = literals(o.Entrypoint), literals(o.Command)
	o.variables()
	o.is.Labels = maps.Clone(map[string]string(o.Labels))
	if o.Deploy != nil && len(o.Deploy.Labels) > 0 {
		if o.is.Labels == nil {
			o.is.Labels = map[string]string{}
		}
		for _, name := range slices.Sorted(maps.Keys(o.Deploy.Labels)) {
			if value, twice := o.is.Labels[name]; twice && value != o.Deploy.Labels[name] {
				o.refuse("deploy.labels", name, "labels has another value for it, and a service has one list of labels: leave one of them out")
				continue
			}
			o.is.Labels[name] = o.Deploy.Labels[name]
		}
	}
	o.is.User, o.is.WorkingDir, o.is.ReadOnlyRoot = o.User, o.WorkingDir, o.ReadOnly
	if o.StopGracePeriod != nil {
		o.is.StopGrace = events.Duration(*o.StopGracePeriod)
	}
	o.capabilities()
	o.security()
	o.limits()
	for _, d := range o.Devices {
		if !strings.HasPrefix(d.Source, "/") {
			o.refuse("devices", d.Source, "a device is named by its path below /dev: write /dev/…")
			continue
		}
		o.is.Devices = append(o.is.Devices, events.Device{Path: d.Source, Target: d.Target, Access: d.Permissions})
	}
	o.pulls()
}

// pulls maps when the node pulls the image.
func (o *one) pulls() {
	switch o.PullPolicy {
	case "":
	case types.PullPolicyMissing, types.PullPolicyIfNotPresent:
		o.is.Pull = events.PullMissing
	case types.PullPolicyAlways:
		o.is.Pull = events.PullAlways
	case types.PullPolicyNever:
		o.is.Pull = events.PullNever
	default:
		o.refuse("pull_policy", o.PullPolicy, "images are fetched when they are missing, always or never: say one of these")
	}
}

// secretive matches names of variables whose values should be secrets.
var secretive = regexp.MustCompile(`(?i)(PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY)$`)

func (o *one) variables() {
	for _, name := range slices.Sorted(maps.Keys(o.Environment)) {
		value := o.Environment[name]
		if value == nil {
			continue // unset: Compose omits it too
		}
		if o.is.Env == nil {
			o.is.Env = map[string]string{}
		}
		o.is.Env[name] = literal(*value)
		if secretive.MatchString(name) && *value != "" {
			o.warn("environment."+name, nil, "the log keeps this value for ever, and every client of the bus can read it: prefer secrets")
		}
	}
	o.names()
}

// names warns about values that seem to name another service of the project.
func (o *one) names() {
	texts := map[string]string{}
	for name, value := range o.Environment {
		if value != nil {
			texts["environment."+name] = *value
		}
	}
	texts["command"], texts["entrypoint"] = strings.Join(o.Command, " "), strings.Join(o.Entrypoint, " ")
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		for _, other := range slices.Sorted(maps.Keys(o.project.Services)) {
			if other != o.Name && addressed(texts[key], key, other) {
				o.warn(key, nil, "it seems to name the service %s, but services have no DNS names: use the address of a node and a "+
					"published port, or extra_hosts", other)
			}
		}
	}
}

// addressed reports whether the service's name is in the place of a host in the text: before a port, behind //, @ or a comma, or as
// the whole value of a variable whose name ends with HOST, SERVER or ADDR.
func addressed(text, key, service string) bool {
	if text == service {
		return strings.HasSuffix(key, "HOST") || strings.HasSuffix(key, "SERVER") || strings.HasSuffix(key, "ADDR")
	}
	name := regexp.QuoteMeta(service)
	return regexp.MustCompile(fmt.Sprintf(`(^|[\s,/@=])%s:\d+|[/@]%s(/|$|\s)`, name, name)).MatchString(text)
}

// literal escapes a text so that a template expands to it, because Compose has no templates.
func literal(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }

func literals(words []string) []string {
	made := make([]string, len(words))
	for i, word := range words {
		made[i] = literal(word)
	}
	return made
}

// capabilities maps the capabilities in the file. Without any, the process has those of the cluster's policy.
func (o *one) capabilities() {
	if len(o.CapAdd) == 0 && len(o.CapDrop) == 0 {
		o.warn("cap_add", nil, "without cap_add a process has no capabilities: an image that changes its user or the owners of files at its start "+
			"needs cap_add: [CHOWN, SETUID, SETGID]")
		return
	}
	has := map[string]bool{}
	all := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, "ALL") })
	}
	if !all(o.CapDrop) {
		for _, name := range defaultCapabilities {
			has[name] = true
		}
	}
	bare := func(name string) string { return strings.TrimPrefix(events.CapabilityName(name), "CAP_") }
	for _, name := range o.CapDrop {
		delete(has, bare(name))
	}
	if all(o.CapAdd) {
		o.refuse("cap_add", "ALL", "capabilities are named one each: name those that it needs")
	}
	for _, name := range o.CapAdd {
		if bare(name) != "ALL" {
			has[bare(name)] = true
		}
	}
	o.is.Capabilities = slices.Sorted(maps.Keys(has))
}

func (o *one) security() {
	for i, option := range o.SecurityOpt {
		switch strings.ReplaceAll(option, "=", ":") {
		case "no-new-privileges", "no-new-privileges:true": // every instance runs with this option
		default:
			o.refuse(fmt.Sprintf("security_opt[%d]", i), option, "no instance gains privileges, and all else is the node's: leave it out")
		}
	}
}

func (o *one) limits() {
	for _, name := range slices.Sorted(maps.Keys(o.Ulimits)) {
		l := o.Ulimits[name]
		value := l.Single
		if value == 0 {
			value = l.Hard
			if l.Soft != l.Hard {
				o.refuse("ulimits."+name, fmt.Sprintf("soft %d, hard %d", l.Soft, l.Hard), "a limit is soft and hard in one: give one number")
				continue
			}
		}
		if value < 0 {
			o.refuse("ulimits."+name, value, "a limit is a number: give the greatest that it may be")
			continue
		}
		most := uint64(value)
		o.is.Ulimits = append(o.is.Ulimits, events.Ulimit{Name: events.UlimitName(name), Value: &most})
	}
	o.is.ShmSize = events.Size(max(0, o.ShmSize))
}
