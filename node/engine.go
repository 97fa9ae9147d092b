package node

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/rookery-project/rookery/events"
)

// Engine runs containers. Every call ends when its context does. A call that failed may have had its effect all the
// same: the next look tells.
type Engine interface {
	// Facts says what the engine is and what its host has to give.
	Facts(ctx context.Context) (Facts, error)
	// Tidy removes what calls that were cut short have left for this owner beside containers. No Prepare may be under way.
	Tidy(ctx context.Context, owner Owner) error
	// List returns every container of this owner, running or not, in no order.
	List(ctx context.Context, owner Owner) ([]Container, error)
	// Inspect returns the container of the instance, or nil where there is none.
	Inspect(ctx context.Context, owner Owner, id events.InstanceID) (*Container, error)
	// Prepare refuses what the plan does not allow, has the image present, fills the volumes that the plan says and creates the
	// container. Where one stands for the same attempt already, it is returned. Errors are *Failure where the reason is known.
	Prepare(ctx context.Context, plan Plan) (Container, error)
	// Start starts the container; one that runs already is no error. Errors are *Failure where the reason is known.
	Start(ctx context.Context, c Container) error
	// Guard has the host end the containers when their windows have passed since the node was heard, whatever becomes of this process
	// and of the engine, until it is told of a later time. It returns once they are guarded. One that does not run yet ends as it
	// begins. What is guarded stays so until its end.
	Guard(ctx context.Context, heard time.Time, guarded []Guarded) error
	// Stop asks the container to end, and kills it after grace; one that is not running is no error.
	Stop(ctx context.Context, c Container, grace time.Duration) error
	// Remove removes the container, running or not; one that is gone already is no error.
	Remove(ctx context.Context, c Container) error
	// Check asks the running container whether it is healthy, over a port through the host's address. It returns nil
	// where it is.
	Check(ctx context.Context, c Container, health events.Health, address string) error
	// Tell has the file of the container's topology hold the document, from one moment to the next; path is the folder of the
	// file in the container.
	Tell(ctx context.Context, c Container, path string, document []byte) error
	// Ask runs a hook of the running container because of what is asked, over a port through the host's address. It returns nil
	// once that is done.
	Ask(ctx context.Context, c Container, hook events.Hook, asked Asked, address string) error
	// Export returns what the folder in the container holds, as a tar archive that the caller closes: the same of what has not changed.
	// It is read within ctx; where the engine fails in the middle, the reader does.
	Export(ctx context.Context, c Container, path string) (io.ReadCloser, error)
	// Usage measures what the running container takes of the disk; scratch is where its scratch disk is mounted.
	Usage(ctx context.Context, c Container, scratch string) (Usage, error)
	// Stats measures all containers of the host that run, by handle, those of others among them. It may leave some out.
	Stats(ctx context.Context) (map[string]Stats, error)
	// Output returns the last lines that the container has printed, no more than are kept: see LastLines. It may run still,
	// and there are none of one that is removed.
	Output(ctx context.Context, c Container) ([]byte, error)
	// Logs hands over each line that the container has printed, in order, and waits for each to be taken. Where it follows, it goes on
	// until the container ends. There may be fewer where more was printed than an engine keeps.
	Logs(ctx context.Context, c Container, asked events.LogsRequest, line func(events.LogLine) error) error
	// Execute runs a command in the running container and returns its exit code. Where the context or the output ends before the command,
	// that is ended too, as far as the engine can.
	Execute(ctx context.Context, c Container, run Execution) (exitCode int32, err error)
	// Watch calls hint with each instance whose container may have ended, until ctx ends, and then returns nil. It
	// calls ready once it misses nothing more. Hints may be lost or come twice: List is the truth.
	Watch(ctx context.Context, owner Owner, ready func(), hint func(events.InstanceID)) error
}

// Asked is what an instance is asked. As JSON it is what its hook is posted.
type Asked interface {
	// Variables are what the hook's command finds in its environment.
	Variables() []string
}

// Facts is what an engine says of itself and its host.
type Facts struct {
	Engine   events.EngineFacts
	Capacity events.Capacity
}

// Owner is whose containers an engine is asked about: those of one node of one cluster. All others are foreign.
type Owner struct {
	Cluster string
	Node    string
}

// Plan is a container to be made.
type Plan struct {
	Owner    Owner
	Instance events.InstanceID
	Attempt  uint32
	// Order is the one to run the instance.
	Order events.Order
	// Images are what names of images in the spec stand for, as far as that is known: by the order, or because the
	// instance was made from them before.
	Images map[string]string
	// Configs are the values of the spec's configs, by name. Only the container's files may have them.
	Configs map[string][]byte
	// Content opens what the plan's volumes are filled from, where there are any.
	Content Content
	// Topology is what the file of its topology holds as it is made; nil where it has none.
	Topology []byte
	// Role is which of the instance's containers it is.
	Role Role
	// Address is the host's address that ports are published on.
	Address string
	// Allow is what the node lets services have of its host.
	Allow Allowance
}

// Name is the container's name: one for all attempts of an instance, so that no two can stand at once. Its parts are
// parted by dots, which none of them has.
func (p Plan) Name() string {
	return strings.Join([]string{
		"rookery", p.Owner.Cluster[:min(len(p.Owner.Cluster), clusterDigits)], p.Instance.Service.Namespace,
		p.Instance.Service.Name, utoa(p.Instance.Ordinal), utoa(p.Instance.Generation),
	}, ".")
}

// VolumeName is the name of a volume of the instance's slot: one for all its generations on this host.
func (p Plan) VolumeName(volume string) string {
	return strings.Join([]string{
		"rookery", p.Owner.Cluster[:min(len(p.Owner.Cluster), clusterDigits)], p.Instance.Service.Namespace,
		p.Instance.Service.Name, utoa(p.Instance.Ordinal), volume,
	}, ".")
}

// SecretName is the name under which the host has a secret of the instance's namespace: no namespace can name those of
// another.
func (p Plan) SecretName(secret string) string { return p.Instance.Service.Namespace + "." + secret }

// clusterDigits is how much of a cluster's identity is enough to tell it from others on one host.
const clusterDigits = 12

// Role is which of an instance's containers one is.
type Role string

// The roles of a container.
const (
	RoleMain Role = ""     // the service itself
	RoleInit Role = "init" // runs to its end before the main one is made, under its name
	// RoleSidecar is beside the main one. An engine shows it as a part of that, and never by itself.
	RoleSidecar Role = "sidecar"
)

// State is what an engine says of a container.
type State uint8

// The states of a container.
const (
	Created State = iota // made, never started
	Running              // its process runs
	Exited               // its process has ended
)

// Container is one of ours, as the engine has it.
type Container struct {
	// Handle is the engine's own name for it.
	Handle   string
	Instance events.InstanceID
	// Role is which of the instance's containers it is. There is one at a time.
	Role     Role
	Attempt  uint32
	Revision uint64
	State    State
	// ExitCode is that of an exited one. OOMKilled says that the kernel killed it for want of memory.
	ExitCode  int32
	OOMKilled bool
	Ports     []events.PortBinding
	// Told is the order whose topology its file holds; known of one that was just made alone.
	Told uint64
	// Images are what names of images in the spec stood for when it was made, with the digests of a registry.
	Images map[string]string
	// Sidecars are the engine's names of those that are a part of it. Ended is the one whose end was the end of the
	// whole, and Beside says that something of a whole that has ended runs still.
	Sidecars []string
	Ended    string
	Beside   bool
	// BeforeStop is what a main container is asked before it is stopped; nil for nothing.
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
