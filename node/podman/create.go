package podman

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/node"
)

const (
	// memoryLimit is the limit of an instance whose spec names none. It stops one instance from taking the host down.
	memoryLimit = 512 << 20
	// pidsLimit ends a fork bomb and is above what a server with a thread per request takes.
	pidsLimit = 512
	// logSize bounds the log of one container on the host's disk, in bytes. Podman truncates the file when it is full.
	logSize = 1 << 20
	// labelPorts holds the published ports with their names, which Podman has no place for.
	labelPorts = events.ReservedLabel + "ports"
)

type createRequest struct {
	Name         string            `json:"name"`
	Image        string            `json:"image"`
	Entrypoint   []string          `json:"entrypoint,omitempty"`
	Command      []string          `json:"command,omitempty"`
	Env          map[string]string `json:"env"`
	Labels       map[string]string `json:"labels"`
	PortMappings []portMapping     `json:"portmappings,omitempty"`
	Rlimits      []rlimit          `json:"r_limits"`
	Log          logging           `json:"log_configuration"`
	Restart      string            `json:"restart_policy"`
	CapDrop      []string          `json:"cap_drop"`
	NoNewPrivs   bool              `json:"no_new_privileges"`
	StopTimeout  uint              `json:"stop_timeout"`
	NetNS        namespace         `json:"netns"`
	User         string            `json:"user,omitempty"`
	WorkDir      string            `json:"work_dir,omitempty"`
	CapAdd       []string          `json:"cap_add,omitempty"`
	ReadOnly     bool              `json:"read_only_filesystem,omitempty"`
	ShmSize      int64             `json:"shm_size,omitempty"`
	Hostname     string            `json:"hostname,omitempty"`
	HostAdd      []string          `json:"hostadd,omitempty"`
	Sysctl       map[string]string `json:"sysctl,omitempty"`
	Devices      []device          `json:"devices,omitempty"`
	mounts
	secrets
	Resources resources `json:"resource_limits"`
	Systemd   string    `json:"systemd"`
	configs   []config  // made beside: never a part of what is sent
}

// device is a device as Podman reads it: <path>:<path in the container>:<access>.
type device struct {
	Path string `json:"path"`
}

type portMapping struct {
	HostIP        string `json:"host_ip,omitempty"`
	ContainerPort uint16 `json:"container_port"`
	HostPort      uint16 `json:"host_port"`
	Protocol      string `json:"protocol"`
}

type rlimit struct {
	Type string `json:"type"`
	Hard uint64 `json:"hard"`
	Soft uint64 `json:"soft"`
}

type logging struct {
	Driver string `json:"driver"`
	Size   int64  `json:"size"`
}

type namespace struct {
	Mode  string `json:"nsmode"`
	Value string `json:"value,omitempty"`
}

type resources struct {
	CPU    *quota `json:"cpu,omitempty"`
	Memory memory `json:"memory"`
	Pids   pids   `json:"pids"`
}

// quota is how many microseconds a container may run in each period of as many, on all cores together.
type quota struct {
	Quota  int64  `json:"quota"`
	Period uint64 `json:"period"`
}

type memory struct {
	Limit int64 `json:"limit"`
	Swap  int64 `json:"swap"`
}

type pids struct {
	Limit int64 `json:"limit"`
}

// Prepare pulls the image if necessary and creates the container.
func (e *Engine) Prepare(ctx context.Context, plan node.Plan) (node.Container, error) {
	if plan.Order.Spec == nil {
		return node.Container{}, createFailed("the order has no spec")
	}
	if err := plan.Allow.Check(plan.Order); err != nil {
		return node.Container{}, err
	}
	if err := e.limitable(ctx, plan.Order.Spec.Resources); err != nil {
		return node.Container{}, err
	}
	images, err := e.resolve(ctx, plan)
	if err != nil {
		return node.Container{}, err
	}
	plan.Images = images
	if err := e.fill(ctx, plan); err != nil {
		return node.Container{}, err
	}
	main, err := e.prepareMain(ctx, plan)
	if err != nil || main.State != node.Created {
		return main, err
	}
	if err = e.prepareSidecars(ctx, plan, main); err == nil {
		err = e.filled(ctx, plan)
	}
	if err != nil {
		_ = e.Remove(ctx, main) // if this fails, the next attempt removes it
		return node.Container{}, err
	}
	return main, nil
}

func (e *Engine) prepareMain(ctx context.Context, plan node.Plan) (node.Container, error) {
	request, err := e.newContainer(plan, programOf(plan))
	if err != nil {
		return node.Container{}, err
	}
	if err := e.makeVolumes(ctx, plan, request.Volumes); err != nil {
		return node.Container{}, err
	}
	id, err := e.createWithImage(ctx, request, plan)
	known, refused := new(node.Failure), new(refusal)
	if err == nil && plan.Topology != nil {
		err = e.Tell(ctx, node.Container{Handle: id}, plan.Order.Spec.Topology.Path, plan.Topology)
	}
	switch {
	case err == nil:
	case errors.As(err, &known):
		return node.Container{}, err
	case !errors.As(err, &refused):
		return node.Container{}, fmt.Errorf("creating container %s: %w", request.Name, err)
	case refused.says("name is already in use"):
		return e.standing(ctx, plan)
	default:
		return node.Container{}, failure("", plan, refused)
	}
	return node.Container{
		Handle: id, Instance: plan.Instance, Role: plan.Role, Attempt: plan.Attempt, Revision: plan.Order.Revision,
		State: node.Created, Ports: plan.Order.Ports, Images: plan.Images, Sidecars: sidecarNames(plan), Told: plan.Order.Decided,
		BeforeStop: plan.BeforeStop(),
	}, nil
}

// createWithImage creates the container, and pulls its image if the host does not have it. Errors are *node.Failure if the pull fails.
func (e *Engine) createWithImage(ctx context.Context, r createRequest, plan node.Plan) (string, error) {
	id, err := e.create(ctx, r)
	if refused := new(refusal); !errors.As(err, &refused) || !refused.says("image not known") {
		return id, err
	}
	if plan.Order.Spec.Pull == events.PullNever {
		return "", pullFailed(r.Image, "it is not on this node, and pull is never")
	}
	if err := e.pullMarked(ctx, plan.Owner, r.Image, events.PullMissing); err != nil {
		return "", err
	}
	return e.create(ctx, r)
}

func (e *Engine) create(ctx context.Context, r createRequest) (string, error) {
	var made struct {
		ID string `json:"Id"`
	}
	defer e.unmakeConfigs(ctx, r.configs)
	if err := e.makeConfigs(ctx, r.configs); err != nil {
		return "", err
	}
	err := e.do(ctx, request{method: http.MethodPost, path: "/containers/create", body: r}, &made)
	return made.ID, err
}

// standing returns the container that has the planned name, if it is the planned one. It removes a container of an earlier attempt that
// does not run, so that the next try can use the name. It does not touch any other.
func (e *Engine) standing(ctx context.Context, plan node.Plan) (node.Container, error) {
	name := plan.Name()
	found, err := e.settle(ctx, name)
	if err != nil {
		return node.Container{}, fmt.Errorf("inspecting container %s, which already exists: %w", name, err)
	}
	if found == nil {
		// An interrupted create leaves a name in Podman's storage, but no container. Removing the name frees it.
		if err := e.Remove(ctx, node.Container{Handle: name}); err != nil {
			return node.Container{}, err
		}
		return node.Container{}, createFailed("the rest of a container " + name + " was in the way; it is removed now")
	}
	c, err := found.container(plan.Owner)
	if err != nil || c.Instance != plan.Instance {
		return node.Container{}, createFailed("container " + name + " is not ours but has the name that ours needs: " +
			"look at it with \"podman inspect " + name + "\", then rename or remove it")
	}
	if c.Attempt == plan.Attempt && c.Role == plan.Role {
		return c, nil
	}
	if c.State == node.Running {
		return node.Container{}, createFailed(fmt.Sprintf("container %s of attempt %d runs", name, c.Attempt))
	}
	if err := e.Remove(ctx, c); err != nil {
		return node.Container{}, err
	}
	return node.Container{}, createFailed(fmt.Sprintf("container %s of attempt %d was in the way; it is removed now",
		name, c.Attempt))
}

func createFailed(message string) error {
	return &node.Failure{Reason: events.OfflineCreateFailed, Message: message}
}

// newContainer returns the request to create a container. The container is safe by default, and the node restarts it, never Podman.
func (e *Engine) newContainer(plan node.Plan, runs program) (createRequest, error) {
	spec := plan.Order.Spec
	ports, err := json.Marshal(plan.Order.Ports)
	if err != nil {
		return createRequest{}, fmt.Errorf("encoding the ports of %s: %w", plan.Instance, err)
	}
	mounted, err := mountsOf(plan)
	if err != nil {
		return createRequest{}, err
	}
	labels := plan.Labels()
	labels[labelPorts] = string(ports)
	if err := labelWithImages(labels, plan.Images); err != nil {
		return createRequest{}, err
	}
	if err := labelWithBeforeStop(labels, plan.BeforeStop()); err != nil {
		return createRequest{}, err
	}
	if names := sidecarNames(plan); len(names) > 0 {
		labels[labelSidecars] = strings.Join(names, ",")
	}
	request := createRequest{
		Name:         plan.Name(),
		Image:        cmp.Or(plan.Images[runs.image], runs.image),
		Entrypoint:   runs.command,
		Command:      runs.args,
		Env:          environment(plan, runs.env),
		Labels:       labels,
		PortMappings: mappings(plan),
		Rlimits:      limited(e.limits, spec.Ulimits),
		Log:          logging{Driver: "k8s-file", Size: logSize},
		Restart:      "no",
		CapDrop:      []string{"all"},
		NoNewPrivs:   plan.Order.SecurityContext != events.SecurityEngine,
		StopTimeout:  seconds(time.Duration(spec.StopGrace)),
		NetNS:        namespace{Mode: string(spec.NetworkMode())},
		User:         spec.User,
		WorkDir:      spec.WorkingDir,
		CapAdd:       plan.Capabilities(),
		ReadOnly:     spec.ReadOnlyRoot,
		ShmSize:      int64(spec.ShmSize),
		Hostname:     spec.Hostname,
		HostAdd:      hostLines(spec.ExtraHosts),
		Sysctl:       spec.Sysctls,
		Devices:      devices(spec.Devices),
		mounts:       mounted,
		secrets:      secretsOf(plan),
		Resources:    limits(spec.Resources),
		// Podman guesses from the command that a container has systemd inside, and then mounts half of /sys.
		Systemd: "false",
	}
	return request.withConfigs(plan), nil
}

// limits are the most that an instance may use.
func limits(r events.Resources) resources {
	most := int64(memoryLimit)
	if r.Memory > 0 {
		most = int64(r.Memory)
	}
	// No swap on top: an instance that swaps is slow, and the operator cannot see why.
	l := resources{Memory: memory{Limit: most, Swap: most}, Pids: pids{Limit: pidsLimit}}
	if r.CPU > 0 {
		const period = 100_000 // the kernel's own
		l.CPU = &quota{Quota: int64(r.CPU) * period / int64(events.Core), Period: period}
	}
	return l
}

// mappings publishes the ports on the node's address. Podman does not accept host names, so a node whose address is one publishes on all
// addresses. Init containers and sidecars publish no ports, because the ports belong to the main container.
func mappings(plan node.Plan) []portMapping {
	if plan.Role != node.RoleMain {
		return nil
	}
	host := ""
	if address, err := netip.ParseAddr(plan.Address); err == nil {
		host = address.String()
	}
	mapped := make([]portMapping, 0, len(plan.Order.Ports))
	for _, p := range plan.Order.Ports {
		mapped = append(mapped, portMapping{
			HostIP: host, ContainerPort: p.Port, HostPort: p.HostPort, Protocol: string(p.Protocol),
		})
	}
	return mapped
}

func devices(wanted []events.Device) []device {
	all := make([]device, 0, len(wanted))
	for _, d := range wanted {
		all = append(all, device{d.Path + ":" + d.Target + ":" + d.Access})
	}
	return all
}

// hostLines returns the lines of /etc/hosts as Podman takes them.
func hostLines(hosts []events.ExtraHost) []string {
	lines := make([]string, 0, len(hosts))
	for _, h := range hosts {
		lines = append(lines, h.Name+":"+h.Address)
	}
	return lines
}

// seconds rounds up, because Podman counts whole seconds and an instance must get at least the time in its spec.
func seconds(d time.Duration) uint {
	return uint((max(d, 0) + time.Second - 1) / time.Second)
}
