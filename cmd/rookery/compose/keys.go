package compose

import "strings"

// carried are the supported keys: they become a part of a spec, or say where other keys come from. A * matches any name, and [] any
// entry of a list. A supported key includes all keys below it.
var carried = []string{
	"name", "version", "include",
	"services.*.image", "services.*.pull_policy", "services.*.command", "services.*.entrypoint",
	"services.*.environment", "services.*.env_file", "services.*.labels", "services.*.label_file",
	"services.*.extends", "services.*.scale", "services.*.restart",
	"services.*.ports[].name", "services.*.ports[].target", "services.*.ports[].published", "services.*.ports[].protocol",
	"services.*.ports[].host_ip", "services.*.ports[].mode", "services.*.expose",
	"services.*.volumes[].type", "services.*.volumes[].source", "services.*.volumes[].target", "services.*.volumes[].read_only",
	"services.*.volumes[].bind.create_host_path", "services.*.volumes[].tmpfs.size", "services.*.tmpfs", "services.*.shm_size",
	"services.*.configs[].source", "services.*.configs[].target", "services.*.configs[].mode",
	"services.*.secrets[].source", "services.*.secrets[].target", "services.*.secrets[].mode",
	"services.*.healthcheck.test", "services.*.healthcheck.disable", "services.*.healthcheck.interval",
	"services.*.healthcheck.timeout", "services.*.healthcheck.retries", "services.*.healthcheck.start_period",
	"services.*.depends_on.*.condition", "services.*.depends_on.*.required",
	"services.*.user", "services.*.working_dir", "services.*.hostname", "services.*.extra_hosts", "services.*.sysctls",
	"services.*.cap_add", "services.*.cap_drop", "services.*.read_only", "services.*.security_opt",
	"services.*.devices[].source", "services.*.devices[].target", "services.*.devices[].permissions", "services.*.ulimits",
	"services.*.stop_grace_period", "services.*.network_mode", "services.*.networks.default",
	"services.*.cpus", "services.*.mem_limit", "services.*.mem_reservation",
	"services.*.deploy.mode", "services.*.deploy.replicas", "services.*.deploy.labels",
	"services.*.deploy.resources.limits.cpus", "services.*.deploy.resources.limits.memory",
	"services.*.deploy.resources.reservations.cpus", "services.*.deploy.resources.reservations.memory",
	"services.*.deploy.placement.constraints", "services.*.deploy.placement.max_replicas_per_node",
	"services.*.deploy.placement.preferences[].spread",
	"services.*.deploy.restart_policy.condition", "services.*.deploy.restart_policy.delay",
	"services.*.deploy.restart_policy.max_attempts", "services.*.deploy.restart_policy.window",
	"services.*.deploy.update_config.parallelism", "services.*.deploy.update_config.delay",
	"services.*.deploy.update_config.failure_action", "services.*.deploy.update_config.monitor",
	"services.*.deploy.update_config.max_failure_ratio", "services.*.deploy.update_config.order",
	"services.*.deploy.rollback_config.parallelism", "services.*.deploy.rollback_config.delay",
	"services.*.deploy.rollback_config.failure_action", "services.*.deploy.rollback_config.monitor",
	"services.*.deploy.rollback_config.max_failure_ratio", "services.*.deploy.rollback_config.order",
	"volumes.*.driver",
	"configs.*.file", "configs.*.content", "configs.*.environment", "configs.*.external", "configs.*.name",
	"secrets.*.file", "secrets.*.environment", "secrets.*.external", "secrets.*.name",
}

// refused are the keys that Rookery does not support, with an alternative. A refused key includes all keys below it. Rookery does not
// refuse a key whose value is false, because such a value asks for nothing. alwaysRefused lists the exceptions.
var refused = map[string]string{
	"jobs":                      "write each as a service with deploy.mode replicated-job, and its schedule as x-rookery: {job: {schedule: \"*/5 * * * *\"}}",
	"models":                    "Rookery runs no models: give the address of one in environment",
	"networks.*.attachable":     noNetworks,
	"networks.*.driver":         noNetworks,
	"networks.*.driver_opts":    noNetworks,
	"networks.*.enable_ipv4":    noNetworks,
	"networks.*.enable_ipv6":    noNetworks,
	"networks.*.external":       noNetworks,
	"networks.*.internal":       noNetworks,
	"networks.*.ipam":           noNetworks,
	"networks.*.labels":         noNetworks,
	"networks.*.name":           noNetworks,
	"volumes.*.driver_opts":     "Podman's own volumes have no options: leave it out, or mount a path that every node has as type bind",
	"volumes.*.external":        "each slot of a service has a volume of its own, which Rookery makes: leave it out, or mount a path that every node has as type bind",
	"volumes.*.labels":          "volumes have Rookery's labels alone: leave it out",
	"volumes.*.name":            "Rookery names volumes after the service and the slot: leave it out",
	"configs.*.labels":          "configs have no labels: leave it out",
	"configs.*.template_driver": "Rookery does not expand templates in configs: write the values, or use environment, which Compose inserts",
	"secrets.*.driver":          noDriver,
	"secrets.*.driver_opts":     noDriver,
	"secrets.*.labels":          "secrets have no labels here: give them to podman secret create on the nodes",
	"secrets.*.template_driver": "Rookery does not expand templates in secrets: leave it out",

	"services.*.annotations":                                     "instances have labels alone: move them to labels",
	"services.*.attach":                                          "apply does not attach to instances: leave it out, and use rookery logs",
	"services.*.blkio_config":                                    noIO,
	"services.*.build":                                           "Rookery does not build images: build it, push it to a registry that the nodes reach, and name it in image",
	"services.*.cgroup":                                          noHostNamespace,
	"services.*.cgroup_parent":                                   "Podman chooses the parent cgroup of instances: leave it out",
	"services.*.configs[].uid":                                   ownedByUser,
	"services.*.configs[].gid":                                   ownedByUser,
	"services.*.secrets[].uid":                                   ownedByUser,
	"services.*.secrets[].gid":                                   ownedByUser,
	"services.*.container_name":                                  "Rookery names containers after the namespace, the service and the slot: leave it out, and use this name for the service",
	"services.*.cpu_count":                                       sayCPUs,
	"services.*.cpu_percent":                                     sayCPUs,
	"services.*.cpu_period":                                      sayCPUs,
	"services.*.cpu_quota":                                       sayCPUs,
	"services.*.cpu_rt_period":                                   sayCPUs,
	"services.*.cpu_rt_runtime":                                  sayCPUs,
	"services.*.cpu_shares":                                      "CPU shares do not compare across nodes: use deploy.resources.reservations.cpus",
	"services.*.cpuset":                                          sayCPUs,
	"services.*.credential_spec":                                 "it is for Windows: leave it out",
	"services.*.depends_on.*.restart":                            "Rookery does not restart a service because another restarts: leave it out, and let the service connect again itself",
	"services.*.deploy.endpoint_mode":                            "no address stands for all instances: leave it out, and see deploy/docs/services.md for how services reach each other",
	"services.*.deploy.resources.limits.pids":                    noPids,
	"services.*.deploy.resources.reservations.devices":           "devices are named by their path: say devices, and allow them on the node with rookery node --allow-device",
	"services.*.deploy.resources.reservations.generic_resources": "nodes offer CPU, memory and disk only: label the nodes that have it, and name the label in deploy.placement.constraints",
	"services.*.develop":                                         "it is for building on one machine: leave it out",
	"services.*.device_cgroup_rules":                             "devices are named by their path: say devices",
	"services.*.dns":                                             noDNS,
	"services.*.dns_opt":                                         noDNS,
	"services.*.dns_search":                                      noDNS,
	"services.*.domainname":                                      "write the whole name in hostname",
	"services.*.external_links":                                  noLinks,
	"services.*.gpus":                                            "devices are named by their path: say devices, and allow them on the node with rookery node --allow-device",
	"services.*.group_add":                                       "a process has the groups of its user: name the group in user, as in 1000:44",
	"services.*.healthcheck.start_interval":                      "until the first successful check, checks are at most 1s apart: leave it out",
	"services.*.init":                                            "Rookery adds no init process: start the image with an init such as tini or catatonit",
	"services.*.ipc":                                             noHostNamespace,
	"services.*.isolation":                                       "it is for Windows: leave it out",
	"services.*.links":                                           noLinks,
	"services.*.logging":                                         "the node's Podman chooses the log driver: set log_driver in its containers.conf",
	"services.*.mac_address":                                     noNetworks,
	"services.*.mem_swappiness":                                  noSwap,
	"services.*.memswap_limit":                                   noSwap,
	"services.*.models":                                          "Rookery runs no models: give the address of one in environment",
	"services.*.networks.*":                                      noNetworks,
	"services.*.networks.default.*":                              noNetworks,
	"services.*.oom_kill_disable":                                noOOM,
	"services.*.oom_score_adj":                                   noOOM,
	"services.*.pid":                                             noHostNamespace,
	"services.*.pids_limit":                                      noPids,
	"services.*.platform":                                        "an instance has the platform of its node: give the nodes a label, and name that in deploy.placement.constraints",
	"services.*.ports[].app_protocol":                            "ports are tcp or udp: leave it out",
	"services.*.post_start":                                      "Rookery runs no command after the start: put it into the image or into healthcheck",
	"services.*.pre_start":                                       "use x-rookery: {init: {command: [...]}}, which runs before each instance",
	"services.*.pre_stop":                                        "use x-rookery: {hooks: {before_stop: {exec: [...]}}}, which runs before Rookery stops an instance",
	"services.*.privileged":                                      "Rookery runs no privileged instances: use cap_add and devices, and allow them on the node with rookery node --allow-capability and --allow-device",
	"services.*.profiles":                                        "apply deploys all services of a file: put this one into its own file; --lenient skips it",
	"services.*.provider":                                        "Rookery runs containers only: leave it out, and put the address of the provider's resource into environment",
	"services.*.pull_refresh_after":                              "Rookery resolves a tag once in each revision: use a new tag, or pull_policy always",
	"services.*.runtime":                                         "a node has the runtime of its Podman: leave it out",
	"services.*.stdin_open":                                      "instances have no standard input: leave it out",
	"services.*.stop_signal":                                     "Rookery stops instances with the image's signal: set STOPSIGNAL there, or x-rookery: {hooks: {before_stop: {signal: SIGQUIT}}}",
	"services.*.storage_opt":                                     "use x-rookery: {resources: {disk: 1GiB}} to limit what an instance writes",
	"services.*.tty":                                             "instances have no terminal: leave it out",
	"services.*.umask":                                           "the process has the image's umask: set it in the command",
	"services.*.use_api_socket":                                  "instances cannot use the host's container engine: leave it out",
	"services.*.userns_mode":                                     noHostNamespace,
	"services.*.uts":                                             noHostNamespace,
	"services.*.volumes[].bind.propagation":                      "host paths are mounted privately: leave it out",
	"services.*.volumes[].bind.recursive":                        "host paths are mounted with what is mounted below them: leave it out",
	"services.*.volumes[].bind.selinux":                          "host paths are not relabelled: label them on the nodes",
	"services.*.volumes[].consistency":                           "it has no effect on Linux: leave it out",
	"services.*.volumes[].image":                                 "images are not mounted: copy the files into a volume with x-rookery: {init: {image: ...}}",
	"services.*.volumes[].tmpfs.mode":                            "a tmpfs has mode 1777: leave it out",
	"services.*.volumes[].volume.labels":                         noOptions,
	"services.*.volumes[].volume.nocopy":                         noOptions,
	"services.*.volumes[].volume.subpath":                        noOptions,
	"services.*.volumes_from":                                    "each slot of a service has volumes of its own: name the volumes here, or mount a path that the nodes have",
}

// The alternatives that several keys share.
const (
	noNetworks      = "Rookery has no shared networks: each instance has its own, and clients reach it at its node's address and published ports: leave it out"
	noDriver        = "the Podman of each node stores secrets: create it there with podman secret create, and write external: true"
	noIO            = "Rookery does not limit disk I/O: leave it out"
	noHostNamespace = "an instance has namespaces of its own: leave it out"
	ownedByUser     = "the file belongs to user if that is a number, and else to root: leave it out, and set user"
	sayCPUs         = "use deploy.resources.limits.cpus"
	noOptions       = "a volume is mounted as a whole, without options: leave it out"
	noPids          = "each instance has the node's limit on processes: leave it out, or use ulimits nproc"
	noDNS           = "an instance uses the DNS servers of its node: set them there, or use extra_hosts"
	noLinks         = "services have no DNS names: put the address of its node and a published port into environment, or use extra_hosts"
	noSwap          = "each node manages its own swap: leave it out, and use deploy.resources.limits.memory"
	noOOM           = "the kernel kills processes that use too much memory: leave it out, and use deploy.resources.limits.memory"
)

// alwaysRefused are keys that Rookery refuses even with the value false.
var alwaysRefused = map[string]bool{"services.*.attach": true, "networks.*.enable_ipv4": true}

// key is one step on the way to a verdict about a path.
type key struct {
	path    string
	below   map[string]*key
	carried bool
	instead string // the alternative; "" for a key that is not refused
}

// keys is the tree of all known keys.
var keys = knownKeys()

func knownKeys() *key {
	root := &key{}
	for _, path := range carried {
		root.add(path).carried = true
	}
	for path, instead := range refused {
		root.add(path).instead = instead
	}
	return root
}

// add returns the key of a path, and creates missing keys above it.
func (k *key) add(path string) *key {
	for step := range strings.SplitSeq(strings.ReplaceAll(path, "[]", ".[]"), ".") {
		next := k.below[step]
		if next == nil {
			next = &key{path: strings.TrimPrefix(strings.ReplaceAll(k.path+"."+step, ".[]", "[]"), ".")}
			if k.below == nil {
				k.below = map[string]*key{}
			}
			k.below[step] = next
		}
		k = next
	}
	return k
}

// step returns the key with a name below this key; nil if it is unknown.
func (k *key) step(name string) *key {
	if next := k.below[name]; next != nil {
		return next
	}
	return k.below["*"]
}
