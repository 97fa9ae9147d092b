package compose

import "strings"

// carried are the keys that become a part of a spec, or say where other keys come from. A * is any name, and [] any entry of a
// list. All that stands below the last of a path is carried with it.
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

// refused are the keys that Rookery does not carry, with what to do instead. All that stands below one is refused with it.
// Where the value is false, nothing is asked for and nothing is refused, but for those in alwaysRefused.
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
	"configs.*.template_driver": "configs are taken as they are: write the values out, or use environment, which Compose puts in",
	"secrets.*.driver":          noDriver,
	"secrets.*.driver_opts":     noDriver,
	"secrets.*.labels":          "secrets have no labels here: give them to podman secret create on the nodes",
	"secrets.*.template_driver": "secrets are taken as they are: leave it out",

	"services.*.annotations":                                     "instances have labels alone: move them to labels",
	"services.*.attach":                                          "nothing is attached: leave it out, and see rookery events and podman logs on the node",
	"services.*.blkio_config":                                    noIO,
	"services.*.build":                                           "Rookery runs images and builds none: build it, push it to a registry that the nodes reach, and name it in image",
	"services.*.cgroup":                                          noHostNamespace,
	"services.*.cgroup_parent":                                   "a node puts instances where Podman does: leave it out",
	"services.*.configs[].uid":                                   ownedByUser,
	"services.*.configs[].gid":                                   ownedByUser,
	"services.*.secrets[].uid":                                   ownedByUser,
	"services.*.secrets[].gid":                                   ownedByUser,
	"services.*.container_name":                                  "containers are named after the namespace, the service and the slot: leave it out, and name the service so",
	"services.*.cpu_count":                                       sayCPUs,
	"services.*.cpu_percent":                                     sayCPUs,
	"services.*.cpu_period":                                      sayCPUs,
	"services.*.cpu_quota":                                       sayCPUs,
	"services.*.cpu_rt_period":                                   sayCPUs,
	"services.*.cpu_rt_runtime":                                  sayCPUs,
	"services.*.cpu_shares":                                      "shares say nothing across nodes: say deploy.resources.reservations.cpus",
	"services.*.cpuset":                                          sayCPUs,
	"services.*.credential_spec":                                 "it is for Windows: leave it out",
	"services.*.depends_on.*.restart":                            "a service is not restarted because another is: leave it out, and have it connect again by itself",
	"services.*.deploy.endpoint_mode":                            "no address stands for all instances: leave it out, and see deploy/docs/services.md for how services reach each other",
	"services.*.deploy.resources.limits.pids":                    noPids,
	"services.*.deploy.resources.reservations.devices":           "devices are named by their path: say devices, and allow them on the node with rookery node --allow-device",
	"services.*.deploy.resources.reservations.generic_resources": "nodes have cpu, memory and disk to give: give the nodes that have it a label, and name that in deploy.placement.constraints",
	"services.*.develop":                                         "it is for building on one machine: leave it out",
	"services.*.device_cgroup_rules":                             "devices are named by their path: say devices",
	"services.*.dns":                                             noDNS,
	"services.*.dns_opt":                                         noDNS,
	"services.*.dns_search":                                      noDNS,
	"services.*.domainname":                                      "write the whole name in hostname",
	"services.*.external_links":                                  noLinks,
	"services.*.gpus":                                            "devices are named by their path: say devices, and allow them on the node with rookery node --allow-device",
	"services.*.group_add":                                       "a process has the groups of its user: name the group in user, as in 1000:44",
	"services.*.healthcheck.start_interval":                      "until the first check that is well, checks are at most 1s apart by themselves: leave it out",
	"services.*.init":                                            "nothing stands before the process of an instance: have the image begin with an init such as tini or catatonit",
	"services.*.ipc":                                             noHostNamespace,
	"services.*.isolation":                                       "it is for Windows: leave it out",
	"services.*.links":                                           noLinks,
	"services.*.logging":                                         "the node's Podman says where output goes: set log_driver in its containers.conf",
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
	"services.*.post_start":                                      "nothing is run in an instance after its start: have the image do it, or put it into healthcheck",
	"services.*.pre_start":                                       "say what runs before each instance as x-rookery: {init: {command: [...]}}",
	"services.*.pre_stop":                                        "say what an instance does before it is stopped as x-rookery: {hooks: {before_stop: {exec: [...]}}}",
	"services.*.privileged":                                      "no instance is privileged: say cap_add and devices, and allow them on the node with rookery node --allow-capability and --allow-device",
	"services.*.profiles":                                        "all services of a file are applied: put this one into a file of its own; with --lenient it is left out",
	"services.*.provider":                                        "services are containers: leave it out, and give the address of what the provider makes in environment",
	"services.*.pull_refresh_after":                              "say pull_policy always, or a new tag: what a tag stands for is found out once in each revision",
	"services.*.runtime":                                         "a node has the runtime of its Podman: leave it out",
	"services.*.stdin_open":                                      "nobody types to an instance: leave it out",
	"services.*.stop_signal":                                     "instances are asked to stop with the image's own signal: set STOPSIGNAL there, or x-rookery: {hooks: {before_stop: {signal: SIGQUIT}}}",
	"services.*.storage_opt":                                     "what an instance may write is x-rookery: {resources: {disk: 1GiB}}",
	"services.*.tty":                                             "instances have no terminal: leave it out",
	"services.*.umask":                                           "the process has the image's own: set it in the command",
	"services.*.use_api_socket":                                  "no instance has the host's container engine: leave it out",
	"services.*.userns_mode":                                     noHostNamespace,
	"services.*.uts":                                             noHostNamespace,
	"services.*.volumes[].bind.propagation":                      "host paths are mounted privately: leave it out",
	"services.*.volumes[].bind.recursive":                        "host paths are mounted with what is mounted below them: leave it out",
	"services.*.volumes[].bind.selinux":                          "host paths are not relabelled: label them on the nodes",
	"services.*.volumes[].consistency":                           "it says nothing on Linux: leave it out",
	"services.*.volumes[].image":                                 "images are not mounted: copy the files into a volume with x-rookery: {init: {image: ...}}",
	"services.*.volumes[].tmpfs.mode":                            "a tmpfs has mode 1777: leave it out",
	"services.*.volumes[].volume.labels":                         noOptions,
	"services.*.volumes[].volume.nocopy":                         noOptions,
	"services.*.volumes[].volume.subpath":                        noOptions,
	"services.*.volumes_from":                                    "each slot of a service has volumes of its own: name the volumes here, or mount a path that the nodes have",
}

// What is said of several keys.
const (
	noNetworks      = "there are no networks to name: each instance has one of its own, and is reached under its node's address and published ports: leave it out"
	noDriver        = "secrets are kept by the Podman of each node: make it there with podman secret create, and say external: true"
	noIO            = "there is no limit on what is read and written: leave it out"
	noHostNamespace = "an instance has namespaces of its own: leave it out"
	ownedByUser     = "the file is the user's, where user is given as a number, and root's otherwise: leave it out, and say user"
	sayCPUs         = "say deploy.resources.limits.cpus"
	noOptions       = "a volume is mounted as a whole, without options: leave it out"
	noPids          = "each instance has the node's own limit on processes: leave it out, or say ulimits nproc"
	noDNS           = "an instance asks the DNS servers of its node: set them there, or say extra_hosts"
	noLinks         = "services have no names of each other: give the address of its node and a published port in environment, or say extra_hosts"
	noSwap          = "swap is the node's own matter: leave it out, and say deploy.resources.limits.memory"
	noOOM           = "the kernel ends what takes too much memory: leave it out, and say deploy.resources.limits.memory"
)

// alwaysRefused are refused whatever their value is.
var alwaysRefused = map[string]bool{"services.*.attach": true, "networks.*.enable_ipv4": true}

// key is one step on the way to a verdict about a path.
type key struct {
	path    string
	below   map[string]*key
	carried bool
	instead string // what to do; "" where it is not refused
}

// keys is what is known of all keys.
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

// add returns the key of a path, and makes what is missing on the way there.
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

// step returns what is known of a name below the key; nil where that is nothing.
func (k *key) step(name string) *key {
	if next := k.below[name]; next != nil {
		return next
	}
	return k.below["*"]
}
