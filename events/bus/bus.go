package bus

import (
	"context"
	"errors"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/rookery-project/rookery/events"
)

// Stream is the name of a stream of the design.
type Stream string

// The streams.
const (
	Commands Stream = "ROOKERY_COMMANDS"
	Statuses Stream = "ROOKERY_STATUS"
	Log      Stream = "ROOKERY_LOG"
	Orders   Stream = "ROOKERY_ORDERS"
	Metrics  Stream = "ROOKERY_METRICS"
)

// Streams lists all streams, in the order in which reports name them.
var Streams = []Stream{Commands, Statuses, Log, Orders, Metrics}

// The buckets.
const (
	BucketServices  = "rookery_services"
	BucketInstances = "rookery_instances"
	BucketNodes     = "rookery_nodes"
	// BucketOperations has the operations of services, and the outcome of each service's last one.
	BucketOperations = "rookery_operations"
	// BucketEndpoints has the addresses and ports of services. The leader withdraws an instance there before the node is told to stop it.
	BucketEndpoints = "rookery_endpoints"
	BucketLease     = "rookery_lease"
	// BucketConfigs is where operators put configs, for nodes to read. It is the only bucket on disk.
	BucketConfigs = "rookery_configs"
	// BucketOutput is where nodes put the last output of containers that failed, for operators to read.
	BucketOutput = "rookery_output"
)

// Views lists the buckets that the leader writes for clients to read. The server publishes what is written below events.ViewRoot.
var Views = []string{BucketServices, BucketInstances, BucketNodes, BucketOperations, BucketEndpoints}

const (
	// MaxBatch is the greatest number of messages in one atomic append.
	MaxBatch = 1000
	// MaxMessage is the greatest size of one message in bytes that every server takes: NATS's own default.
	MaxMessage = 1 << 20
	// CallTimeout bounds a call to the bus that nothing else waits longer for.
	CallTimeout = 5 * time.Second
	// MaxSkew is how far the clock of a client may be off the server's.
	MaxSkew = 5 * time.Second
	// MatchingPage is how many messages Bus.Matching returns at most.
	MatchingPage = 500
	// MaxConfig is the greatest size of a config in bytes; the server refuses larger ones.
	MaxConfig = 256 << 10
)

// The headers of an answer to a question that could not be answered, as NATS's services name them.
const (
	HeaderError     = "Nats-Service-Error"
	HeaderErrorCode = "Nats-Service-Error-Code"
)

// The headers of an answer that say of which state it is.
const (
	// HeaderSequence is the sequence in the log at which the state ends.
	HeaderSequence = "Rookery-Sequence"
	// HeaderAge is how long ago the coordinator learned that the log ends there, as a duration.
	HeaderAge = "Rookery-Age"
	// HeaderStale is a sentence for readers, and only there if the age is more than a few seconds.
	HeaderStale = "Rookery-Stale"
)

// Errors of a Bus, wrapped with what was being done.
var (
	// ErrPosition occurs when an append expects another last sequence than the stream has, or a bucket's key another revision: another
	// client has written in between.
	ErrPosition = errors.New("another client has written in between")
	// ErrUnknown occurs when an append was sent and its outcome is not known: it may be stored or not, or be stored later.
	ErrUnknown = errors.New("the outcome is unknown")
	// ErrNoQuorum occurs, beside ErrUnknown, when too few of the servers run to agree on anything.
	ErrNoQuorum = errors.New("the NATS servers have no quorum: most of them must run and reach each other")
	// ErrTooLarge occurs when the server refuses a message or a batch for its size, now and always.
	ErrTooLarge = errors.New("too large")
	// ErrFull occurs when the server has no room: its disk or a limit is full.
	ErrFull = errors.New("the server has no room")
	// ErrNoStream occurs when a stream does not exist.
	ErrNoStream = errors.New("the stream does not exist")
	// ErrNoKey occurs when a bucket has no such key.
	ErrNoKey = errors.New("no such key")
	// ErrReader occurs when a reader of a stream ended by itself.
	ErrReader = errors.New("the stream can no longer be read")
	// ErrNoAnswer occurs when no answer to a request arrives in time.
	ErrNoAnswer = errors.New("no answer")
	// ErrForbidden occurs when the permissions of the NATS user do not allow a request.
	ErrForbidden = errors.New("the permissions of this NATS user do not allow it")
)

// Bus is the message bus as Rookery uses it.
type Bus interface {
	// Publish stores one message in the stream that captures its subject and returns its sequence.
	Publish(ctx context.Context, m events.Message) (uint64, error)
	// Append stores the batch in the stream as one, right behind the message with sequence after, and returns the last
	// sequence; or it stores nothing. Errors are ErrPosition, ErrTooLarge, ErrFull, and ErrUnknown for all that may have
	// had its effect.
	Append(ctx context.Context, stream Stream, after uint64, batch []events.Message) (uint64, error)
	// Read delivers the messages from the sequence on, in order, as they are stored.
	Read(ctx context.Context, stream Stream, from uint64) (Reader, error)
	// Last returns the last message of the stream, or false where it is empty. Any server that keeps the stream may answer for the log and
	// the orders, also one that lags behind.
	Last(ctx context.Context, stream Stream) (events.Message, bool, error)
	// Latest returns the last message of each subject that matches the filter, in order of sequence.
	Latest(ctx context.Context, stream Stream, filter string) ([]events.Message, error)
	// Matching returns the messages from the sequence on whose subjects match the filter, in order: at most MatchingPage of them. Fewer
	// than that are the last ones.
	Matching(ctx context.Context, stream Stream, filter string, from uint64) ([]events.Message, error)
	// State returns the identity, the sequences and the size of the stream, or ErrNoStream.
	State(ctx context.Context, stream Stream) (State, error)
	// Renew makes the streams that the server keeps in memory alone, where they are missing: a restart of the server loses them. The
	// error is that of the statuses.
	Renew(ctx context.Context) error
	// Leaderless returns those of InMemory that no server leads, although the servers agree on who leads all others. While servers elect a
	// leader, that may last for some seconds.
	Leaderless(ctx context.Context) ([]string, error)
	// Replace makes one of InMemory again with the same settings, empty and with another identity, unless a server leads it.
	Replace(ctx context.Context, name string) error
	// Purge lets go of all messages below the sequence.
	Purge(ctx context.Context, stream Stream, below uint64) error

	// Send publishes to the clients that listen now. Nothing is stored.
	Send(m events.Message) error
	// Subscribe listens. A listener that is too slow misses messages.
	Subscribe(subject string) (Subscription, error)
	// Request sends and waits for one answer, or ErrNoAnswer.
	Request(ctx context.Context, m events.Message) (events.Message, error)
	// NewInbox returns a subject of this caller's own.
	NewInbox() string
	// User is the one of Rookery's accounts that connects, or "" where accounts are off.
	User() string
	// Answer answers requests on the subject, possibly several at once, until stop is called; stop returns when no answer is under way. A request that names another
	// subject than an inbox for its answer is ignored.
	Answer(subject string, answer func(events.Message) (events.Message, error)) (stop func(), err error)

	// Serve answers questions on events.QuestionSubject and events.QuestionsBy of their names as Answer does, and says who answers.
	Serve(by Coordinator, questions map[string]Question) (stop func(), err error)
	// Coordinators returns those that answer questions now. One that is slow to say so may be missing.
	Coordinators(ctx context.Context) ([]Coordinator, error)

	// Bucket opens a bucket, making it where it is missing.
	Bucket(ctx context.Context, name string) (Bucket, error)
	// Objects returns the store of objects of this name, which may have none yet.
	Objects(name string) Objects
	// Room returns how much the account has stored on disk.
	Room(ctx context.Context) (Room, error)
	// Now returns the server's time, as far as the bus can tell it.
	Now(ctx context.Context) (time.Time, error)
}

// Coordinator is one that answers questions, by what it says of itself.
type Coordinator struct {
	Name string `json:"name"`
	events.Program
}

// Asked is a question.
type Asked struct {
	Body []byte
	// User is who asks, or "" where the subject does not say so. Namespace is the one that the answer may be about alone; "" for all.
	User, Namespace string
}

// AskedIn returns the question in a message.
func AskedIn(subject string, body []byte) Asked {
	user, namespace := events.AskedBy(subject)
	return Asked{body, user, namespace}
}

// Question answers one question with a body and headers, which a refusal has too. Errors reach who asked; a *QuestionError with its code.
type Question func(Asked) (events.Message, error)

// CodeOf returns the code with which an error of a question reaches who asked.
func CodeOf(err error) int {
	const internal = 500
	var known *QuestionError
	if errors.As(err, &known) {
		return known.Code
	}
	return internal
}

// QuestionError is the answer to a question that cannot be answered.
type QuestionError struct {
	// Code is for machines, as the status codes of HTTP; Reason is for the reader.
	Code   int
	Reason string
}

// Error returns the reason.
func (e *QuestionError) Error() string { return e.Reason }

// Refusal is the body of the answer to a question that could not be answered: what the headers say, for clients that do not read these.
type Refusal struct {
	// Code is for machines, as the status codes of HTTP; Reason is for the reader.
	Code   int    `json:"code"`
	Reason string `json:"reason"`
}

func errorBody(err error) []byte {
	body, _ := json.Marshal(Refusal{CodeOf(err), err.Error()}) // plain fields encode
	return body
}

// State is the identity of a stream, with its sequences and its size.
type State struct {
	// Identity tells this stream from any other of the same name.
	Identity string
	// Accounts says that the stream was made where Rookery's accounts are on.
	Accounts bool
	// First and Last are the sequences of its first and last message; First is Last+1 where it is empty.
	First, Last uint64
	// Since is when its first message was stored, by the server's clock; any time where it is empty.
	Since time.Time
	// Bytes is what its messages take.
	Bytes uint64
}

// Room is what an account has stored on disk, and may store.
type Room struct {
	// Used and Most are in bytes; Most is 0 where the account has no limit of its own.
	Used, Most uint64
}

// Scarce reports whether the account uses so much of its disk that the operator must act.
func (r Room) Scarce() bool {
	const much = 0.7
	return r.share() > much
}

func (r Room) share() float64 {
	if r.Most == 0 {
		return 0
	}
	return float64(r.Used) / float64(r.Most)
}

// Reader delivers messages of a stream in order.
type Reader interface {
	// Messages is closed when the reader ends.
	Messages() <-chan events.Message
	// Stop ends the reader and returns when it has ended.
	Stop()
}

// Subscription delivers messages that are published while it stands.
type Subscription interface {
	Messages() <-chan events.Message
	// Stop ends the subscription. Nothing is delivered after it returned.
	Stop()
}

// Bucket holds the latest value of each key.
type Bucket interface {
	// Get returns the entry, or ErrNoKey.
	Get(ctx context.Context, key string) (Entry, error)
	// Put writes the value if the key has this revision, 0 for none, and returns the new one; else ErrPosition. Of a
	// config that is too large it returns ErrTooLarge.
	Put(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// Set writes the value, whatever revision the key has. Of an output that is too large it returns ErrTooLarge.
	Set(ctx context.Context, key string, value []byte) error
	// Delete removes the key if it has this revision, else ErrPosition. Revision 0 is that of a key that is missing.
	Delete(ctx context.Context, key string, revision uint64) error
	// All returns every entry, in no order.
	All(ctx context.Context) ([]Entry, error)
	// Last returns the revision of the last change, of any client: it is the same as before where nothing has changed since.
	Last(ctx context.Context) (uint64, error)
}

// Entry is a key's value in a bucket.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
	Stored   time.Time
}
