package node

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Engine runs containers. Every call ends when its context does. A call that failed may still have had its effect: the next List or
// Inspect shows that.
type Engine interface {
	// Facts returns the version of the engine and the capacity of its host.
	Facts(ctx context.Context) (Facts, error)
	// Tidy removes what interrupted calls have left behind for this owner, except containers. No Prepare may be under way.
	Tidy(ctx context.Context, owner Owner) error
	// List returns every container of this owner, running or not, in any order.
	List(ctx context.Context, owner Owner) ([]Container, error)
	// Inspect returns the container of the instance; nil for none.
	Inspect(ctx context.Context, owner Owner, id events.InstanceID) (*Container, error)
	// Prepare creates the container, after it has pulled the image and filled the plan's volumes. It refuses what the plan does not allow.
	// It returns the container that already exists for the same attempt, if any. Errors are *Failure if the reason is known.
	Prepare(ctx context.Context, plan Plan) (Container, error)
	// Start starts the container, unless it already runs. Errors are *Failure if the reason is known.
	Start(ctx context.Context, c Container) error
	// Guard makes the host kill each container once its window has passed since heard, the time of the node's last answered heartbeat.
	// The host does so even if this process and the engine have ended. A later call with a later time extends the windows.
	// Guard returns once the host guards the containers, and each stays guarded until its end. The host kills a container that starts
	// after its window as soon as it starts.
	Guard(ctx context.Context, heard time.Time, guarded []Guarded) error
	// Stop asks the container to end, and kills it after grace. It does nothing if the container does not run.
	Stop(ctx context.Context, c Container, grace time.Duration) error
	// Remove removes the container, running or not. It does nothing if the container is gone.
	Remove(ctx context.Context, c Container) error
	// Check runs the health check of the running container. It reaches a port through the host's address. It returns nil if the
	// container is healthy.
	Check(ctx context.Context, c Container, health events.Health, address string) error
	// Tell atomically replaces the content of the container's topology file by the document. path is the folder of the file in the
	// container.
	Tell(ctx context.Context, c Container, path string, document []byte) error
	// Ask runs a hook of the running container and passes asked to it. It reaches a port through the host's address. It returns nil
	// once the hook has succeeded.
	Ask(ctx context.Context, c Container, hook events.Hook, asked Asked, address string) error
	// Export returns the content of the folder in the container as a tar archive, which the caller closes. Unchanged content gives the
	// same archive. The caller must read it before ctx ends. The reader fails if the engine fails in the middle.
	Export(ctx context.Context, c Container, path string) (io.ReadCloser, error)
	// Usage measures what the running container takes of the disk; scratch is where its scratch disk is mounted.
	Usage(ctx context.Context, c Container, scratch string) (Usage, error)
	// Stats measures all running containers of the host, by handle, including foreign ones. It may omit some.
	Stats(ctx context.Context) (map[string]Stats, error)
	// Output returns the last lines that the container has printed, within the bounds of LastLines. The container may still run. A
	// removed container has no output.
	Output(ctx context.Context, c Container) ([]byte, error)
	// Logs calls line for each line that the container has printed, in order, one at a time. If the request follows, it continues until
	// the container ends. Lines that the engine no longer keeps are missing.
	Logs(ctx context.Context, c Container, asked events.LogsRequest, line func(events.LogLine) error) error
	// Execute runs a command in the running container and returns its exit code. If the context ends or the output fails before the
	// command ends, the engine kills the command as far as it can.
	Execute(ctx context.Context, c Container, run Execution) (exitCode int32, err error)
	// Watch calls hint with each instance whose container may have ended, until ctx ends, and then returns nil. It calls ready once it
	// sees every end from then on. Hints may be lost or come twice: List is the truth.
	Watch(ctx context.Context, owner Owner, ready func(), hint func(events.InstanceID)) error
}

// Asked is what a hook of an instance is asked. A hook over HTTP receives it as JSON.
type Asked interface {
	// Variables returns the environment variables of the hook's command.
	Variables() []string
}

// Facts is what an engine reports about itself and its host.
type Facts struct {
	Engine   events.EngineFacts
	Capacity events.Capacity
}

// Owner selects the containers of one node of one cluster. All other containers are foreign.
type Owner struct {
	Cluster string
	Node    string
}

// Plan describes a container to create.
type Plan struct {
	Owner    Owner
	Instance events.InstanceID
	Attempt  uint32
	// Order is the one to run the instance.
	Order events.Order
	// Images are the references that image names in the spec resolve to, as far as they are known. They come from the order or from
	// earlier containers of the instance.
	Images map[string]string
	// Configs are the values of the spec's configs, by name. An engine may write them only to the container's files.
	Configs map[string][]byte
	// Content opens what the plan's volumes are filled from. It is used only if the plan has volumes to fill.
	Content Content
	// Topology is the first content of its topology file; nil for no such file.
	Topology []byte
	// Role is which of the instance's containers it is.
	Role Role
	// Address is the host's address on which ports are published.
	Address string
	// Allow lists what the node lets services use of its host.
	Allow Allowance
}

// Name is the container's name. All attempts of an instance share it, so that two of them cannot exist at once. Dots separate its
// parts; no part contains a dot.
func (p Plan) Name() string {
	return strings.Join([]string{
		"rookery", p.Owner.Cluster[:min(len(p.Owner.Cluster), clusterDigits)], p.Instance.Service.Namespace,
		p.Instance.Service.Name, utoa(p.Instance.Ordinal), utoa(p.Instance.Generation),
	}, ".")
}

// VolumeName is the name of a volume of the instance's slot. All generations of the slot on this host share it.
func (p Plan) VolumeName(volume string) string {
	return strings.Join([]string{
		"rookery", p.Owner.Cluster[:min(len(p.Owner.Cluster), clusterDigits)], p.Instance.Service.Namespace,
		p.Instance.Service.Name, utoa(p.Instance.Ordinal), volume,
	}, ".")
}

// SecretName is the name under which the host keeps a secret of the instance's namespace. Its prefix stops one namespace from naming
// the secrets of another.
func (p Plan) SecretName(secret string) string { return p.Instance.Service.Namespace + "." + secret }

// clusterDigits is how many characters of a cluster's identity tell it from other clusters on one host.
const clusterDigits = 12

// Role tells the containers of one instance apart.
type Role string

// The roles of a container.
const (
	RoleMain Role = ""     // the service itself
	RoleInit Role = "init" // ends before the main one is created, and has the same name
	// RoleSidecar runs beside the main container. An engine lists it as a part of the main container, never on its own.
	RoleSidecar Role = "sidecar"
)

// State is the state of a container in the engine.
type State uint8

// The states of a container.
const (
	Created State = iota // created, never started
	Running              // its process runs
	Exited               // its process has ended
)

// Container is a container of the owner, as the engine reports it.
type Container struct {
	// Handle is the engine's own name for it.
	Handle   string
	Instance events.InstanceID
	// Role is its role in the instance, which has one container at a time.
	Role     Role
	Attempt  uint32
	Revision uint64
	State    State
	// ExitCode is that of an exited container. OOMKilled reports whether the kernel killed it because it ran out of memory.
	ExitCode  int32
	OOMKilled bool
	Ports     []events.PortBinding
	// Told is the order whose topology its file holds. Only Prepare sets it.
	Told uint64
	// Images are the references, with digests of a registry, that image names in the spec resolved to when it was created.
	Images map[string]string
	// Sidecars are the engine's names of its sidecars. Ended is the sidecar whose end counts as the end of the whole. Beside reports
	// whether the whole has ended but a part of it still runs.
	Sidecars []string
	Ended    string
	Beside   bool
	// BeforeStop is what comes before the stop of a main container; nil for nothing.
	BeforeStop *BeforeStop
}

// runs reports whether anything of the container runs.
func (c *Container) runs() bool { return c != nil && (c.State == Running || c.Beside) }

// Failure is an engine's error whose reason is known.
type Failure struct {
	Reason  events.OfflineReason
	Message string
}

// Error returns the reason and the message.
func (f *Failure) Error() string { return string(f.Reason) + ": " + f.Message }
